"""The ratio of two means or medians, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.traces.runs.resemblance import at_least, difference_error, scatter, widening

LEVEL = 0.95
STATISTICS = ("mean", "median")
MOST_BATCHES = 40
"""Batches of the shorter series: many enough to tell whether neighbours resemble one another, and few enough that what is no
autoregression of first order looks like one."""
SHORTEST_SERIES = 3
MANY_TIMES = 2
"""A series this many times as long as another says more of how far values scatter than that one does."""
MOST_COUNTED = 100_000_000
"""Additions with which rank sums are counted; beyond, the normal law has bounds as close or a little wider."""


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

    Both are cut into batches of equal length, at most forty of the shorter one. Batches that resemble the ones before, as steps of
    one run may, widen the interval: see `resemblance`. Few independent values cannot be told from such: in the median of drawn
    pairs the interval of five is twice as wide as Student's, of ten an eighth wider, of twenty a hundredth.

    Parameters
    ----------
    a, b : array, shape (n,)
        Values in order of measurement, > 0; at least three each.
    statistic : {"mean", "median"}
        ``mean``: arithmetic means (1 / throughput), errors of the batch means by Student with the degrees of freedom of Welch.
        Few values seldom hold one of those that lie far off: a series beside one at least twice as long scatters at least as
        that one does.
        ``median``: median of all differences of logarithms of batch medians, with the interval of the rank-sum test, widened as
        the interval of their mean ranks is.
    level : float

    Raises
    ------
    DataError
        A series is shorter than three.
    """
    for name, series in (("A", a), ("B", b)):
        if len(series) < SHORTEST_SERIES:
            raise DataError(f"got {len(series)} values for {name}, expected at least {SHORTEST_SERIES}", place=name)
    length = batch_length(min(len(a), len(b)))
    if statistic == "median":
        first, second = (np.log(np.median(batched(each, length), axis=1)) for each in (a, b))
        return _rank_sum(first, second, level)
    means = [batched(each, length).mean(axis=1) for each in (a, b)]
    own = [scatter(each / each.mean()) for each in means]
    of_a = at_least(own[0], own[1]) if len(b) >= MANY_TIMES * len(a) else own[0]
    of_b = at_least(own[1], own[0]) if len(a) >= MANY_TIMES * len(b) else own[1]
    spread, half = difference_error(of_a, of_b, level)
    estimate = math.log(float(means[1].mean()) / float(means[0].mean()))
    return Ratio(math.exp(estimate), math.exp(estimate - half), math.exp(estimate + half), spread, min(len(each) for each in means))


def batch_length(n: int) -> int:
    """Values a batch, so that ``n`` make at most forty."""
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
    found = _by_order(shifts, cut, spread, min(len(a), len(b)))
    wider = widening(_ranks(a), _ranks(b), level)
    low, high = (found.ratio * (each / found.ratio) ** wider for each in (found.low, found.high))
    return Ratio(found.ratio, low, high, spread, found.n)


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks as shares, which values that lie far off move little."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values) / len(values))


def _by_order(logs: FloatArray, cut: int, spread: float, n: int) -> Ratio:
    """The median of sorted logarithms with the interval that leaves out ``cut`` of them at either end; negative: there is none."""
    low, high = (math.exp(logs[cut]), math.exp(logs[len(logs) - 1 - cut])) if cut >= 0 else (math.nan, math.nan)
    return Ratio(math.exp(float(np.median(logs))), low, high, spread, n)


@cache
def _rank_sum_cut(n: int, m: int, tail: float) -> int:
    """Largest c with P(U <= c) <= tail for samples of n and m; -1 where there is none."""
    n, m = min(n, m), max(n, m)
    if n * n * m * (n + m) > MOST_COUNTED:
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
