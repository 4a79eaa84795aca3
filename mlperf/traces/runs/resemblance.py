"""How much less is known of means where each value resembles the one before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from mlperf.core.arrays import FloatArray

CORRELATIONS = np.linspace(0.0, 0.95, 20)
"""Correlations of neighbours that are thought possible."""
INDEPENDENT = 0.7
"""Chance of none before anything was measured; the chances of others grow as their square, since strong ones cost most."""
BEFORE = np.where(CORRELATIONS > 0, (1 - INDEPENDENT) * CORRELATIONS**2 / np.sum(CORRELATIONS**2), INDEPENDENT)


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """What a series says of every correlation of its neighbours.

    Attributes
    ----------
    log_likelihood : array, shape (n_correlations,)
        Its mean and variance integrated out.
    variance : array, shape (n_correlations,)
        Of single values.
    inflation : array, shape (n_correlations,)
        Variance of the mean of the series, in variances of single values.
    freedom : array, shape (n_correlations,)
        Degrees of freedom of ``variance``.
    """

    log_likelihood: FloatArray
    variance: FloatArray
    inflation: FloatArray
    freedom: FloatArray


def scatter(series: FloatArray) -> Scatter:
    """What a series, at least two values in their order, says of every correlation.

    Notes
    -----
    An autoregression of first order, x_t - m = r (x_(t-1) - m) + e_t, with a flat prior of m and of the logarithm of the standard
    deviation: log L(r) = -(n - 1)/2 ln(1 - r^2) - ln(1'R^-1 1)/2 - (n - 1)/2 ln S^2(r), with the correlation matrix R and the sum
    of squares S^2 about the mean of generalised least squares.
    """
    n, r = len(series), CORRELATIONS
    rest = series - series.mean()
    ends, squares = rest[0] + rest[-1], float(rest @ rest)
    inner = squares - rest[0] ** 2 - rest[-1] ** 2
    products = float(rest[1:] @ rest[:-1])
    whole = (2 + (n - 2) * (1 - r)) / (1 + r)
    along = ends * r / (1 + r)
    total = np.maximum((squares + r**2 * inner - 2 * r * products) / (1 - r**2) - along**2 / whole, 0.0)
    known = -(n - 1) / 2 * np.log(1 - r**2) - np.log(whole) / 2 - (n - 1) / 2 * np.log(total) if np.all(total > 0) else 0 * r
    return Scatter(known, total / (n - 1), mean_inflation(n), np.full(len(r), n - 1.0))


def mean_inflation(n: int) -> FloatArray:
    """Variance of the mean of n values in variances of one: (1 + r)/(1 - r)/n - 2 r (1 - r^n)/((1 - r)^2 n^2)."""
    r = CORRELATIONS
    return np.asarray((1 + r) / (1 - r) / n - 2 * r * (1 - r**n) / ((1 - r) * n) ** 2)


def at_least(own: Scatter, other: Scatter) -> Scatter:
    """A series whose values scatter at least as those of another do."""
    is_less = own.variance < other.variance
    variance = np.where(is_less, other.variance, own.variance)
    return Scatter(own.log_likelihood, variance, own.inflation, np.where(is_less, other.freedom, own.freedom))


def difference_error(a: Scatter, b: Scatter, level: float) -> tuple[float, float]:
    """Standard error of the difference of two means, and half the width of its interval.

    Neighbours of both series are taken to be correlated alike. For each correlation the difference follows Student's t with the
    degrees of freedom of Welch; these are mixed by how likely both series make the correlation.
    """
    from scipy.optimize import brentq

    weights = np.log(BEFORE) + a.log_likelihood + b.log_likelihood
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    parts = [(each.variance * each.inflation, each.freedom) for each in (a, b)]
    total = parts[0][0] + parts[1][0]
    if not np.all(total > 0):
        return 0.0, 0.0
    freedom = total**2 / sum(variance**2 / own for variance, own in parts)
    errors = np.sqrt(total)
    halves = stdtrit(freedom, 0.5 + level / 2) * errors
    half = brentq(lambda at: weights @ stdtr(freedom, -at / errors) - (1 - level) / 2, 0.99 * halves.min(), 1.01 * halves.max())
    return float(np.sqrt(weights @ total)), float(half)


def widening(a: FloatArray, b: FloatArray, level: float) -> float:
    """How many times as wide as for independent values an interval of the difference of two series must be, >= 1."""
    first, second = scatter(a), scatter(b)
    _, half = difference_error(first, second, level)
    parts = [(each.variance[0] * each.inflation[0], each.freedom[0]) for each in (first, second)]
    total = sum(variance for variance, _ in parts)
    if not total > 0:
        return 1.0
    freedom = total**2 / sum(variance**2 / own for variance, own in parts)
    return max(1.0, half / float(stdtrit(freedom, 0.5 + level / 2) * np.sqrt(total)))
