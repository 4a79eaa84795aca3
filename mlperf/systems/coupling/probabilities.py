"""How often a gradient buffer is fresh and the weights are new, and how many gradients a GPU adds to one update."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray

INV_SQRT_2PI = 0.3989422804014327
SURE = 8.5
"""Deviations above 0 from which on the part below it is lost in rounding."""


def normal_density(z: FloatArray) -> FloatArray:
    """Density of the standard normal distribution."""
    return np.asarray(INV_SQRT_2PI * np.exp(-0.5 * z * z))


def expected_excess(mean: FloatArray, std: FloatArray) -> FloatArray:
    """E max(Z, 0) of a normal Z with this mean and standard deviation; max(mean, 0) where the deviation is 0."""
    mean, std = np.broadcast_arrays(mean, std)
    if np.all(mean >= SURE * std) and np.all(mean > 0.0):
        return np.array(mean)
    spread = std > 0.0
    everywhere = bool(spread.all())
    with np.errstate(over="ignore"):
        z = mean / (std if everywhere else np.where(spread, std, 1.0))
        smooth = np.maximum(mean * ndtr(z) + std * normal_density(z), 0.0)
    return np.asarray(smooth if everywhere else np.where(spread, smooth, np.maximum(mean, 0.0)))


def expected_shorter(period_s: FloatArray, std_s: FloatArray, limit_s: FloatArray) -> FloatArray:
    """E min(max(Z, 0), limit) of a normal period Z: the mean of the shorter of two periods, one of them random.

    Parameters
    ----------
    period_s, std_s : array
        Mean and standard deviation of Z, seconds.
    limit_s : array
        The other period, seconds, >= 0.

    Returns
    -------
    array
        Seconds; ``min(period_s, limit_s)`` where ``std_s`` is 0. A period is never negative, so the normal's negative
        tail counts as 0 (1e-8 of the mean at a coefficient of variation of 0.2).
    """
    return expected_excess(period_s, std_s) - expected_excess(period_s - limit_s, std_s)


def ready_probability(gpu_iteration_s: FloatArray, gpu_std_s: FloatArray, update_iteration_s: FloatArray) -> FloatArray:
    """Probability p that a gradient buffer is fresh when the update thread inspects it, E min(G, U) / G.

    Parameters
    ----------
    gpu_iteration_s, gpu_std_s : array, shape (n_configs,)
        Mean and standard deviation of T_GPU, seconds.
    update_iteration_s : array, shape (n_configs,)
        T_Update, seconds.

    Returns
    -------
    array, shape (n_configs,)
        In [0, 1]; ``min(U / G, 1)`` (the paper's form) where the deviation is 0.

    References
    ----------
    Oyama et al. (SPRINT), Table 4, with iteration jitter.
    """
    return np.minimum(expected_shorter(gpu_iteration_s, gpu_std_s, update_iteration_s) / gpu_iteration_s, 1.0)


def fetch_probability(gpu_iteration_s: FloatArray, gpu_std_s: FloatArray, update_iteration_s: FloatArray) -> FloatArray:
    """Probability q that the weights are new when a GPU thread starts an iteration, E min(G, U) / U.

    Same parameters as :func:`ready_probability`, so that p E[G] = q E[U]: every published version that is fetched
    by a GPU meets one fresh buffer of it. ``min(G / U, 1)`` where the deviation is 0 (Table 3 of the paper prints the
    inverse ratio).
    """
    fresh_s = ready_probability(gpu_iteration_s, gpu_std_s, update_iteration_s) * gpu_iteration_s
    return np.asarray(np.minimum(fresh_s / update_iteration_s, 1.0))


def gradient_count_tail(
    gpu_iteration_s: FloatArray, gpu_std_s: FloatArray, update_iteration_s: FloatArray, n_terms: int
) -> FloatArray:
    """P(K >= j), j = 1..n_terms, of the number K of gradients that one GPU adds to one update.

    K is the count of an equilibrium renewal process with normal gaps in a window of length U:
    P(K >= j) = (H_j - H_{j-1}) / G with H_j = E min(S_j, U) and S_j the sum of j gaps.

    Returns
    -------
    array, shape (n_terms, n_configs)
        Probabilities. Without jitter K is floor(U/G) or one more.
    """
    j = np.arange(1, n_terms + 1, dtype=np.float64).reshape(-1, *([1] * np.ndim(gpu_iteration_s)))
    reach_s = expected_shorter(j * gpu_iteration_s, np.sqrt(j) * gpu_std_s, update_iteration_s)
    steps_s = np.diff(reach_s, axis=0, prepend=np.zeros_like(reach_s[:1]))
    return np.clip(steps_s / gpu_iteration_s, 0.0, 1.0)


def gradient_count_terms(ratio: float, variation: float) -> int:
    """How many terms of :func:`gradient_count_tail` carry probability, for the largest U/G and sigma_G/G of a set."""
    return int(np.ceil(ratio + 9.0 * variation * np.sqrt(ratio + 1.0))) + 2
