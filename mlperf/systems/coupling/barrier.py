"""How much longer than the mean the slowest of several nodes takes (SPRINT eq. 8), and the same for normal times."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from mlperf.core.arrays import FloatArray

LEAST_CORRELATION, MOST_CORRELATION = 1e-6, 0.95
NORMAL_GRID = np.linspace(-12.0, 12.0, 961)
NORMAL_WEIGHTS = NORMAL_GRID * np.exp(-0.5 * NORMAL_GRID**2) / math.sqrt(2.0 * math.pi) * (NORMAL_GRID[1] - NORMAL_GRID[0])
LOG_NORMAL_CDF = log_ndtr(NORMAL_GRID)


def binomial_cdf(n: int, p: FloatArray) -> list[FloatArray]:
    """P(X <= i), i = 0..n-1, of X ~ Bin(n, p); one array of p's shape per i."""
    p = np.asarray(p, dtype=np.float64)
    fresh, stale = [np.ones_like(p)], [np.ones_like(p)]
    for _ in range(n):
        fresh.append(fresh[-1] * p)
        stale.append(stale[-1] * (1.0 - p))
    return _cumulative([math.comb(n, i) * fresh[i] * stale[n - i] for i in range(n)])


def beta_binomial_cdf(n: int, p: FloatArray, overdispersion: FloatArray) -> list[FloatArray]:
    """P(X <= i), i = 0..n-1, of a beta-binomial X with mean n p and variance overdispersion * n p (1-p).

    The correlation (overdispersion - 1) / (n - 1) is held in [1e-6, 0.95]; one buffer is a Bernoulli variable.
    """
    p = np.asarray(p, dtype=np.float64)
    correlation = np.clip((overdispersion - 1.0) / max(n - 1, 1), LEAST_CORRELATION, MOST_CORRELATION)
    strength = 1.0 / correlation - 1.0
    alpha, beta = p * strength, (1.0 - p) * strength
    mass = np.ones_like(p)
    for i in range(n):
        mass = mass * ((beta + i) / (strength + i))
    masses = [mass]
    for i in range(n - 1):
        mass = mass * ((n - i) / (i + 1.0) * (alpha + i) / (beta + (n - 1 - i)))
        masses.append(mass)
    return _cumulative(masses)


def barrier_excess(n: int, p: FloatArray, n_nodes: FloatArray, overdispersion: FloatArray | None = None) -> FloatArray:
    """E(max over nodes of X) - E(X): the buffers that the slowest node adds more than the mean one.

    Parameters
    ----------
    n : int
        Buffers of a node (GPUs per node).
    p : array, shape (n_configs,)
        Probability that a buffer is fresh.
    n_nodes : array, shape (n_configs,)
        Nodes at the barrier.
    overdispersion : array, shape (n_configs,), optional
        Variance of X over the binomial's; None is the paper's binomial X.

    Returns
    -------
    array, shape (n_configs,)
        Buffers; 0 for one node or p = 1, n (1-p) for endlessly many nodes.

    References
    ----------
    Oyama et al. (SPRINT), eq. 8: n (1-p) - sum_{i<n} F(i)**M.
    """
    cdf = binomial_cdf(n, p) if overdispersion is None else beta_binomial_cdf(n, p, overdispersion)
    below = sum(np.power(np.minimum(level, 1.0), n_nodes) for level in cdf)
    return np.asarray(np.maximum(n * (1.0 - np.asarray(p)) - below, 0.0))


def buffer_overdispersion(n: int, relative_sum: FloatArray) -> FloatArray:
    """Variance of the number of fresh buffers over the binomial variance n p (1-p).

    A fresh buffer delays the inspections after it and so makes more buffers fresh. Linearised in the relative delay,

        phi(n, eps) = (1/n) sum_{j<n} sum_{i<=j} [C(j,i) (1+eps)**(j-i) eps**i]**2

    Parameters
    ----------
    n : int
        Buffers of a node.
    relative_sum : array
        eps, the time to add one buffer over T_GPU.

    Returns
    -------
    array
        phi >= 1. The inner sums are Legendre polynomials L_j with
        (j+1) L_{j+1} = (2j+1) (A+B) L_j - j (A-B)**2 L_{j-1}, A = (1+eps)**2, B = eps**2.
    """
    eps = np.asarray(relative_sum, dtype=np.float64)
    total, difference = (1.0 + eps) ** 2 + eps**2, 1.0 + 2.0 * eps
    before, now = np.zeros_like(eps), np.ones_like(eps)
    summed = np.zeros_like(eps)
    for j in range(n):
        summed = summed + now
        before, now = now, ((2 * j + 1) * total * now - j * difference**2 * before) / (j + 1)
    return summed / n


def straggler_excess(std_s: FloatArray, n_workers: FloatArray | int) -> FloatArray:
    """E(max) - mean of n_workers independent normal times with standard deviation std_s, seconds.

    Parameters
    ----------
    std_s : array
        Standard deviation of one worker's time, seconds.
    n_workers : array or int
        Workers, >= 1; broadcasts with ``std_s``.
    """
    return np.asarray(np.asarray(std_s) * largest_normal(n_workers))


def largest_normal(n: FloatArray | int) -> FloatArray:
    """Mean of the largest of n independent standard normal numbers, e_n = n int z phi(z) Phi(z)**(n-1) dz.

    Parameters
    ----------
    n : array or int
        Numbers, >= 1; not necessarily whole.

    Returns
    -------
    array
        In standard deviations: e_1 = 0, e_2 = 0.5642, e_8 = 1.4236, e_64 = 2.3437. By the trapezoidal rule on [-12, 12], where it
        converges faster than any power of the step: 1e-13 for n to 1e9.
    """
    found, place = np.unique(np.asarray(n, dtype=np.float64), return_inverse=True)
    excess = np.array([each * np.sum(NORMAL_WEIGHTS * np.exp((each - 1.0) * LOG_NORMAL_CDF)) for each in found])
    return np.asarray(np.where(found == 1.0, 0.0, excess)[place].reshape(np.shape(n)))


def _cumulative(masses: list[FloatArray]) -> list[FloatArray]:
    cdf, level = [], np.zeros_like(masses[0])
    for mass in masses:
        level = level + mass
        cdf.append(level)
    return cdf
