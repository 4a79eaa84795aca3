"""Bursts of a swarm: when it works without a pause, and whether that comes back regularly."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.timeline.intervals import Intervals

LEAST_GAP_NS = 20_000_000
"""A pause that is shorter parts no bursts: samples come no closer."""
LIMITS_NS = (LEAST_GAP_NS, 2**62)
GAPS = 5.0
"""A pause is longer than so many usual gaps."""
LEAST_BURSTS = 4
ALIKE = 0.3
LEAST_ALIKE = 0.7
"""Bursts have a period if this share of their distances is within 30 % of the median."""


def find_bursts(start_ns: IntArray, end_ns: IntArray, limits_ns: tuple[int, int] = LIMITS_NS) -> Intervals:
    """Split events where nothing happens for longer than max(5 x the median gap, the least gap).

    Parameters
    ----------
    start_ns, end_ns : array of int64, shape (n_events,)
        Events by start; samples end when they begin.
    limits_ns : tuple of int
        Nanoseconds: a pause up to the first never parts, one above the second always does.
    """
    if not len(start_ns):
        return Intervals(start_ns, end_ns)
    latest = np.maximum.accumulate(end_ns)
    gap = start_ns[1:] - latest[:-1]
    usual = float(np.median(np.maximum(gap, 0))) if len(gap) else 0.0
    limit = min(max(GAPS * usual, float(limits_ns[0])), float(limits_ns[1]))
    cuts = np.flatnonzero(gap > limit)
    first = np.concatenate(([0], cuts + 1))
    last = np.concatenate((cuts, [len(start_ns) - 1]))
    return Intervals(start_ns[first], np.maximum(latest[last], start_ns[first]))


def period_ns(bursts: Intervals) -> float:
    """Median distance from burst to burst, nanoseconds; NaN where there are fewer than four or they do not come regularly."""
    if len(bursts.start_ns) < LEAST_BURSTS:
        return float("nan")
    distance = np.diff(bursts.start_ns).astype(float)
    middle = float(np.median(distance))
    is_regular = float((np.abs(distance - middle) <= ALIKE * middle).mean()) >= LEAST_ALIKE
    return middle if is_regular else float("nan")
