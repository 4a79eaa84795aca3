"""The ratio of two means or medians, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError

LEVEL = 0.95
STATISTICS = ("mean", "median")
MOST_BATCHES = 10
"""Batches of a series: few enough that neighbours in different batches hardly depend on one another (Schmeiser 1982: 10 to 30)."""
SHORTEST_SERIES = 3
MANY_TIMES = 2
"""A series this many times as long as another says more of how far values scatter than that one does."""
MOST_COUNTED = 1000
"""Batches of the longer series up to which rank sums are counted; beyond, the normal law has bounds as close or a little wider."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio B / A and how well it is known.

    Attributes
    ----------
    ratio, low, high : float
        The estimate and its interval.
    spread : float
        Standard error of the logarithm of the ratio.
    n : int
        Blocks or batches (of the smaller side) it rests on.
    """

    ratio: float
    low: float
    high: float
    spread: float
    n: int


def block_differences(times: FloatArray, is_b: BoolArray) -> FloatArray:
    """Mean log of B minus mean log of A in every block.

    Parameters
    ----------
    times : array, shape (n_blocks, n_runs)
        What each run took, > 0.
    is_b : array of bool, shape (n_blocks, n_runs)
        Whose run it was; both in every block.

    Returns
    -------
    array, shape (n_blocks,)
        d_k = mean(log t of B in k) - mean(log t of A in k).
    """
    logs = np.log(times)
    own = np.asarray(is_b, dtype=bool)
    return np.asarray((logs * own).sum(axis=1) / own.sum(axis=1) - (logs * ~own).sum(axis=1) / (~own).sum(axis=1))


def block_ratio(differences: FloatArray, *, statistic: str = "mean", level: float = LEVEL) -> Ratio:
    """The ratio B / A from the differences of blocks.

    Parameters
    ----------
    differences : array, shape (n_blocks,)
        Of `block_differences`; at least two, for the median at least six at a level of 0.95.
    statistic : {"mean", "median"}
        ``mean``: geometric means, Student's interval of the mean difference. ``median``: Hodges and Lehmann's median of all
        averages of two differences with the interval of the signed-rank test; a few runs that met a disturbance move it little.
    level : float
        Coverage of the interval, inside 0..1.

    Returns
    -------
    Ratio
        NaN where the median's interval needs more blocks.

    Notes
    -----
    Where both commands have the same multiplicative noise, however skewed, differences are symmetric about the logarithm of the
    ratio of means, which is that of medians too.
    """
    n = len(differences)
    if n < 2:
        return Ratio(float("nan"), float("nan"), float("nan"), float("nan"), n)
    spread = float(differences.std(ddof=1)) / math.sqrt(n)
    if statistic == "median":
        return _signed_rank(differences, spread, level)
    return _ratio(float(differences.mean()), spread, n - 1, n, level)


def independent_ratio(a: FloatArray, b: FloatArray, *, statistic: str = "mean", level: float = LEVEL) -> Ratio:
    """The ratio B / A of two series that were measured apart.

    A series is cut into at most ten batches of equal length, so that neighbours that resemble one another, as steps of one run do,
    do not make the interval too narrow.

    Parameters
    ----------
    a, b : array, shape (n,)
        Values in order of measurement, > 0; at least three each.
    statistic : {"mean", "median"}
        ``mean``: arithmetic means (1 / throughput), errors of the batch means by Student with the degrees of freedom of Welch.
        Few values seldom hold one of those that lie far off: a series beside one at least twice as long scatters at least as
        batches of that one do, as long as its own.
        ``median``: median of all differences of logarithms of batch medians, with the interval of the rank-sum test; batches of
        both series are as long as those of the shorter one, since that test takes both to scatter alike.
    level : float

    Raises
    ------
    DataError
        A series is shorter than three.
    """
    for name, series in (("A", a), ("B", b)):
        if len(series) < SHORTEST_SERIES:
            raise DataError(f"got {len(series)} values for {name}, expected at least {SHORTEST_SERIES}", place=name)
    if statistic == "median":
        length = batch_length(min(len(a), len(b)))
        first, second = (np.log(np.median(batched(each, length), axis=1)) for each in (a, b))
        return _rank_sum(first, second, level)
    batches = batch_means(a), batch_means(b)
    parts = [_error(own, other) for own, other in ((a, b), (b, a))]
    total = sum(variance for variance, _ in parts)
    squares = sum(variance**2 / freedom for variance, freedom in parts)
    freedom = total**2 / squares if squares > 0 else float(len(a) + len(b) - 2)
    estimate = math.log(float(batches[1].mean()) / float(batches[0].mean()))
    return _ratio(estimate, math.sqrt(total), freedom, min(len(each) for each in batches), level)


def _error(series: FloatArray, other: FloatArray) -> tuple[float, int]:
    """Variance of the logarithm of a series' mean, and its degrees of freedom."""
    own = batch_means(series)
    variance, freedom = _relative_variance(own), len(own) - 1
    if len(other) >= MANY_TIMES * len(series):
        beside = batched(other, batch_length(len(series))).mean(axis=1)
        if _relative_variance(beside) > variance:
            variance, freedom = _relative_variance(beside), len(beside) - 1
    return variance / len(own), freedom


def _relative_variance(values: FloatArray) -> float:
    return float(values.var(ddof=1)) / float(values.mean()) ** 2


def batch_means(series: FloatArray) -> FloatArray:
    """Means of at most ten batches of equal length."""
    return np.asarray(batched(series, batch_length(len(series))).mean(axis=1))


def batch_length(n: int) -> int:
    """Values a batch, so that ``n`` make at most ten."""
    return -(-n // MOST_BATCHES)


def batched(series: FloatArray, length: int) -> FloatArray:
    """Batches of ``length`` values, a row each; what does not fill a batch at the start is left out."""
    n_batches = len(series) // length
    return np.asarray(series[len(series) - n_batches * length :].reshape(n_batches, length))


def _ratio(estimate: float, spread: float, freedom: float, n: int, level: float) -> Ratio:
    """Student's interval on the log scale."""
    from scipy.stats import t

    half = float(t.ppf(0.5 + level / 2, freedom)) * spread
    return Ratio(math.exp(estimate), math.exp(estimate - half), math.exp(estimate + half), spread, n)


def _signed_rank(differences: FloatArray, spread: float, level: float) -> Ratio:
    """Hodges-Lehmann estimate; the interval from the exact distribution of Wilcoxon's statistic."""
    n = len(differences)
    one, other = np.triu_indices(n)
    averages = np.sort((differences[one] + differences[other]) / 2)
    cut = _signed_rank_cut(n, (1 - level) / 2)
    return _by_order(averages, cut, spread, n)


def _signed_rank_cut(n: int, tail: float) -> int:
    """Largest c with P(W <= c) <= tail for n differences; -1 where there is none."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        # A difference is above or below 0 with equal chance: its rank is in the sum or not.
        counts[rank:] = (counts[rank:] + counts[:-rank]) / 2
        counts[:rank] /= 2
    return int(np.searchsorted(np.cumsum(counts), tail * (1 + 1e-12), "right")) - 1


def _rank_sum(a: FloatArray, b: FloatArray, level: float) -> Ratio:
    """Shift of two samples of logarithms; the interval from the exact distribution of Mann and Whitney's statistic."""
    shifts = np.sort((b[:, None] - a[None, :]).ravel())
    cut = _rank_sum_cut(len(a), len(b), (1 - level) / 2)
    spread = math.sqrt(float(a.var(ddof=1)) / len(a) + float(b.var(ddof=1)) / len(b))
    return _by_order(shifts, cut, spread, min(len(a), len(b)))


def _by_order(logs: FloatArray, cut: int, spread: float, n: int) -> Ratio:
    """The median of sorted logarithms with the interval that leaves out ``cut`` of them at either end; negative: there is none."""
    low, high = (math.exp(logs[cut]), math.exp(logs[len(logs) - 1 - cut])) if cut >= 0 else (math.nan, math.nan)
    return Ratio(math.exp(float(np.median(logs))), low, high, spread, n)


def _rank_sum_cut(n: int, m: int, tail: float) -> int:
    """Largest c with P(U <= c) <= tail for samples of n and m; -1 where there is none."""
    if max(n, m) > MOST_COUNTED:
        return int(n * m / 2 + float(ndtri(tail)) * math.sqrt(n * m * (n + m + 1) / 12) - 0.5)
    ways = np.zeros((n + 1, n * m + 1))
    ways[0, 0] = 1.0
    for rank in range(1, n + m + 1):
        # Of the ranks up to this one, i belong to the first sample; U is their sum less the least it can be.
        for i in range(min(rank, n), 0, -1):
            shift = rank - i
            if shift <= m:
                ways[i, shift:] += ways[i - 1, : n * m + 1 - shift]
    share = np.cumsum(ways[n]) / ways[n].sum()
    return int(np.searchsorted(share, tail * (1 + 1e-12), "right")) - 1
