"""Sets of moments as intervals: unions, what two have in common, what one has alone, how many overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Disjoint intervals in order; whole nanoseconds, ends excluded.

    Attributes
    ----------
    start_ns, end_ns : array of int64, shape (n_intervals,)
        ``start_ns < end_ns <= next start_ns``.
    """

    start_ns: IntArray
    end_ns: IntArray

    @property
    def total_ns(self) -> int:
        """Their length together, nanoseconds."""
        return int((self.end_ns - self.start_ns).sum())

    def hold(self, moments: IntArray) -> BoolArray:
        """Whether each moment lies in an interval."""
        if not len(self.end_ns):
            return np.zeros(len(moments), dtype=bool)
        place = np.searchsorted(self.start_ns, moments, "right") - 1
        return np.asarray((place >= 0) & (moments < self.end_ns[np.maximum(place, 0)]))


def union(start_ns: ArrayLike, end_ns: ArrayLike) -> Intervals:
    """Moments that any of some intervals covers; intervals that touch become one.

    Parameters
    ----------
    start_ns, end_ns : array of int, shape (n,)
        In any order, overlapping as they like; empty ones are left out.
    """
    start, end = np.asarray(start_ns, dtype=np.int64), np.asarray(end_ns, dtype=np.int64)
    kept = end > start
    start, end = start[kept], end[kept]
    order = np.argsort(start, kind="stable")
    start, latest = start[order], np.maximum.accumulate(end[order]) if len(end) else end
    first = np.concatenate(([True], start[1:] > latest[:-1])) if len(start) else np.zeros(0, dtype=bool)
    last = np.concatenate((first[1:], [True])) if len(start) else first
    return Intervals(start[first], latest[last])


def clipped(found: Intervals, start_ns: int, end_ns: int) -> Intervals:
    """What lies between two moments; nothing where the second is not later."""
    end_ns = max(start_ns, end_ns)
    first, last = np.searchsorted(found.end_ns, start_ns, "right"), np.searchsorted(found.start_ns, end_ns, "left")
    if start_ns == end_ns:
        last = first
    start, end = found.start_ns[first:last], found.end_ns[first:last]
    return Intervals(np.maximum(start, start_ns), np.minimum(end, end_ns))


def common(one: Intervals, other: Intervals) -> Intervals:
    """Moments that both have."""
    return _where(one, other, lambda here, there: here & there)


def without(one: Intervals, other: Intervals) -> Intervals:
    """Moments of one that the other has not."""
    return _where(one, other, lambda here, there: here & ~there)


def joined(*several: Intervals) -> Intervals:
    """Moments that any has."""
    return union(np.concatenate([each.start_ns for each in several]), np.concatenate([each.end_ns for each in several]))


def _where(one: Intervals, other: Intervals, rule) -> Intervals:  # type: ignore[no-untyped-def]
    """Moments for which a rule of membership holds."""
    cuts = np.unique(np.concatenate((one.start_ns, one.end_ns, other.start_ns, other.end_ns)))
    if len(cuts) < 2:
        return Intervals(cuts[:0], cuts[:0])
    kept = rule(one.hold(cuts[:-1]), other.hold(cuts[:-1]))
    return union(cuts[:-1][kept], cuts[1:][kept])


def concurrency(start_ns: ArrayLike, end_ns: ArrayLike) -> tuple[IntArray, IntArray]:
    """How long how many intervals overlap: numbers 0, 1, 2, ... and nanoseconds, from the first start to the last end."""
    start, end = np.asarray(start_ns, dtype=np.int64), np.asarray(end_ns, dtype=np.int64)
    if not len(start):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    moments = np.concatenate((start, end))
    steps = np.concatenate((np.ones(len(start), dtype=np.int64), -np.ones(len(end), dtype=np.int64)))
    order = np.argsort(moments, kind="stable")
    depth = np.cumsum(steps[order])[:-1]
    lengths = np.diff(moments[order])
    found = np.bincount(depth, weights=lengths.astype(float), minlength=1)
    return np.arange(len(found)), np.rint(found).astype(np.int64)
