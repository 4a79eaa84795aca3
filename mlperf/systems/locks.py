"""Mean waits for the four locks of SPRINT (eq. 7 and its second-moment form)."""

from __future__ import annotations

from mlperf.core.arrays import FloatArray


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


def hold_second_moment(hold_s: FloatArray, probability: FloatArray, power: int) -> FloatArray:
    """E[hold**2] of a hold that happens with a probability.

    ``power`` 1 is the second moment; 2 is the square of the mean hold, as the paper has it.
    """
    return hold_s * hold_s * (probability if power == 1 else probability * probability)
