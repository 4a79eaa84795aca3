"""Mean waits for the four locks of SPRINT (eq. 7 and its second-moment form)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray

SQRT_2_PI = math.sqrt(2.0 * math.pi)
FAR = 40.0
LEAST_SPREAD = 1e-12


def lock_wait(second_moment_s2: FloatArray, period_s: FloatArray) -> FloatArray:
    """Mean wait of a random arrival for a lock that one other thread holds at most once per period.

    The arrival meets the lock held with probability E[hold] / period and then waits the residual hold
    E[hold**2] / (2 E[hold]); the product is free of E[hold].

    Parameters
    ----------
    second_moment_s2 : array, shape (n_configs,)
        E[hold**2] in seconds squared; not E[hold]**2: a hold that happens with probability q has q * hold**2.
    period_s : array, shape (n_configs,)
        Mean time from the start of one possible hold to the next, seconds, > 0.

    Returns
    -------
    array, shape (n_configs,)
        Seconds. Exact for arrivals at random; up to 10 x low when all GPUs fetch in one burst.

    References
    ----------
    Oyama et al. (SPRINT), eq. 7, with the second moment in place of the squared mean.
    """
    return second_moment_s2 / (2.0 * period_s)


def hold_second_moment(
    hold_s: FloatArray, probability: FloatArray | float, power: int, std_s: FloatArray | float = 0.0
) -> FloatArray:
    """E[hold**2] of a hold that happens with a probability and then takes ``hold_s`` with deviation ``std_s``.

    ``power`` 1 is the second moment; 2 is the square of the mean hold, as the paper has it.
    """
    if power == 1:
        return np.asarray((hold_s * hold_s + std_s * std_s) * probability)
    mean_s = hold_s * probability
    return np.asarray(mean_s * mean_s)


def overlap_second_moment(hold_s: FloatArray, std_s: FloatArray, gap_s: FloatArray, gap_std_s: FloatArray) -> FloatArray:
    """E[max(hold - max(gap, 0), 0)**2]: what is left of a hold for somebody who comes at least a gap after it began.

    Two threads that meet once a period do not meet at random. A buffer is found fresh because its GPU has just left it, and the GPU
    comes back T_GPU later: with T_Update < T_GPU at least their difference lies between. Likewise every GPU has fetched new weights
    within T_GPU of their publication, the next of which comes T_Update later.

    Parameters
    ----------
    hold_s, std_s : array, shape (n_configs,)
        Mean hold and its standard deviation, seconds.
    gap_s, gap_std_s : array, shape (n_configs,)
        Mean of the normal gap, negative where the meeting is at random, and its standard deviation, seconds.

    Returns
    -------
    array, shape (n_configs,)
        Seconds squared, E[hold**2] at most; divided by twice the period it is the mean wait.
    """
    spread_s = np.maximum(gap_std_s, LEAST_SPREAD * (hold_s + np.abs(gap_s)) + np.finfo(float).tiny)
    left_std_s = np.hypot(spread_s, std_s)
    before = -gap_s / spread_s
    early_s = spread_s * _density(before) - gap_s * ndtr(before)
    # E[max(hold - gap, 0)**2] counts a meeting at random as if somebody had come earlier still.
    earlier_s2 = _square_above(-gap_s, spread_s, before) + 2.0 * hold_s * early_s
    left_s2 = _square_above(hold_s - gap_s, left_std_s, (hold_s - gap_s) / left_std_s) - earlier_s2
    return np.asarray(np.maximum(left_s2, 0.0))


def _square_above(mean_s: FloatArray, spread_s: FloatArray, scaled: FloatArray) -> FloatArray:
    """E[max(x, 0)**2] of a normal x."""
    return np.asarray((spread_s**2 + mean_s**2) * ndtr(scaled) + mean_s * spread_s * _density(scaled))


def _density(scaled: FloatArray) -> FloatArray:
    near = np.clip(scaled, -FAR, FAR)
    return np.asarray(np.exp(-0.5 * near * near) / SQRT_2_PI)
