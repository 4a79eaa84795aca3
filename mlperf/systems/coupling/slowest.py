"""The slowest of N gamma times: mean and spread, from a table over N and the coefficient of variation that is made once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.interpolate import RectBivariateSpline
from scipy.special import gammainc, ndtr, ndtri

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError

MOST_VARIATION = 2.0
LOG2_COUNTS = np.arange(0.0, 21.0, 0.5)
VARIATIONS = np.concatenate([np.linspace(0.01, 0.2, 8), np.linspace(0.25, MOST_VARIATION, 36)])
N_NODES = 400


def slowest_factor(n: Any, variation: Any) -> FloatArray:
    """E max of n independent gamma times over their mean.

    Parameters
    ----------
    n : array
        Times, 1 to 2**20.
    variation : array
        Their coefficient of variation, 0 to 2.

    Returns
    -------
    array
        >= 1; within 0.1 % of the integral of 1 - F(x)**n.

    Raises
    ------
    DataError
        n or the variation lies outside.
    """
    counts, wide = _checked(n, variation)
    mean, _ = _splines()
    # The excess per unit of variation is smooth down to no variation at all, where times are normal.
    return np.asarray(1.0 + wide * np.maximum(mean.ev(np.log2(counts), np.maximum(wide, VARIATIONS[0])), 0.0))


def slowest_spread(n: Any, variation: Any) -> FloatArray:
    """Standard deviation of the largest of n independent gamma times over the mean of one; see `slowest_factor`."""
    counts, wide = _checked(n, variation)
    _, spread = _splines()
    return np.asarray(wide * np.maximum(spread.ev(np.log2(counts), np.maximum(wide, VARIATIONS[0])), 0.0))


def larger_of(first: FloatArray, first_std: FloatArray, second: FloatArray, second_std: FloatArray) -> FloatArray:
    """Mean of the larger of two independent, nearly normal times.

    References
    ----------
    Clark (1961), The greatest of a finite set of random variables, eq. 4.
    """
    spread = np.sqrt(first_std**2 + second_std**2)
    wide = np.where(spread > 0.0, spread, 1.0)
    apart = np.clip((first - second) / wide, -40.0, 40.0)
    density = np.exp(-0.5 * apart * apart) / np.sqrt(2.0 * np.pi)
    mixed = first * ndtr(apart) + second * ndtr(-apart) + wide * density
    return np.asarray(np.where(spread > 0.0, mixed, np.maximum(first, second)))


@cache
def _splines() -> tuple[RectBivariateSpline, RectBivariateSpline]:
    means = np.empty((len(LOG2_COUNTS), len(VARIATIONS)))
    spreads = np.empty_like(means)
    for column, variation in enumerate(VARIATIONS):
        means[:, column], spreads[:, column] = _moments(float(variation))
    return RectBivariateSpline(LOG2_COUNTS, VARIATIONS, means), RectBivariateSpline(LOG2_COUNTS, VARIATIONS, spreads)


@cache
def _gauss() -> tuple[FloatArray, FloatArray]:
    # Finding 400 nodes takes longer than all that is done with them.
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    return nodes, weights


def _moments(variation: float) -> tuple[FloatArray, FloatArray]:
    """(E max - 1) / variation and std(max) / variation for every count, by quadrature of the distribution of the largest."""
    shape = variation**-2
    # Wilson and Hilferty: the cube root is nearly normal; from far below the least to far above the largest of 2**20.
    low = 0.0
    high = max((1.0 - 1.0 / (9.0 * shape) + float(ndtri(1 - 1e-11)) / (3.0 * np.sqrt(shape))) ** 3, 1.0) + 8.0 * variation
    if variation < 0.1:
        low = max(1.0 - 8.0 * variation, 0.0)
    nodes, weights = _gauss()
    x, w = low + 0.5 * (high - low) * (nodes + 1.0), 0.5 * (high - low) * weights
    below = gammainc(shape, shape * x)[None, :] ** (2.0 ** LOG2_COUNTS[:, None])
    mean = low + (1.0 - below) @ w
    square = low**2 + (2.0 * x * (1.0 - below)) @ w
    return (mean - 1.0) / variation, np.sqrt(np.maximum(square - mean**2, 0.0)) / variation


def _checked(n: Any, variation: Any) -> tuple[FloatArray, FloatArray]:
    counts, wide = np.broadcast_arrays(np.asarray(n, float), np.asarray(variation, float))
    most = 2.0 ** LOG2_COUNTS[-1]
    for name, values, lowest, highest in (("times", counts, 1.0, most), ("variation", wide, 0.0, MOST_VARIATION)):
        wrong = ~((values >= lowest) & (values <= highest))
        if wrong.any():
            raise DataError(
                f"got {float(values[wrong].ravel()[0]):g} for the {name}, expected {lowest:g} to {highest:g}", place="slowest of n"
            )
    return counts, wide
