"""Intervals from the errors a forecast had so far, widened or narrowed until they cover as often as promised."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence

from mlperf.core.errors import UsageError

LOWEST_MISS, HIGHEST_MISS = 0.002, 0.6


class AdaptiveInterval:
    """Quantiles of the latest signed errors, at a miss rate that follows the misses observed.

    Parameters
    ----------
    level : float
        Promised coverage, in (0, 1).
    window : int
        Errors remembered.
    rate : float
        How far one miss moves the miss rate.
    n_least : int
        Errors before the first interval.

    Attributes
    ----------
    miss_rate : float
        The rate at which quantiles are now taken; 1 - level at the start.
    n_intervals, n_covered : int
        Intervals whose outcome is known, and how many held it.

    References
    ----------
    Gibbs and Candes (2021), Adaptive conformal inference under distribution shift.
    """

    def __init__(self, level: float = 0.9, window: int = 200, rate: float = 0.005, n_least: int = 20) -> None:
        if not 0.0 < level < 1.0:
            raise UsageError(f"got level {level!r}, expected a number in (0, 1)")
        self.level = level
        self.miss_rate = 1.0 - level
        self.n_intervals = self.n_covered = 0
        self._rate, self._n_least = rate, n_least
        self._latest: deque[float] = deque()
        self._sorted: list[float] = []
        self._window = window

    @property
    def coverage(self) -> float:
        """Share of intervals that held the outcome; NaN before the first."""
        return self.n_covered / self.n_intervals if self.n_intervals else math.nan

    def bounds(self) -> tuple[float, float]:
        """Errors between which the next one is expected, lower and upper; NaN while too few are known."""
        if len(self._sorted) < self._n_least:
            return math.nan, math.nan
        return quantile(self._sorted, 0.5 * self.miss_rate), quantile(self._sorted, 1.0 - 0.5 * self.miss_rate)

    def learn(self, error: float, bounds: tuple[float, float]) -> None:
        """Take in an error (observed - forecast) and the bounds that were promised when the forecast was made."""
        if not math.isnan(bounds[0]):
            covered = bounds[0] <= error <= bounds[1]
            self.n_intervals += 1
            self.n_covered += covered
            moved = self.miss_rate + self._rate * (1.0 - self.level - (not covered))
            self.miss_rate = min(max(moved, LOWEST_MISS), HIGHEST_MISS)
        insort(self._sorted, error)
        self._latest.append(error)
        if len(self._latest) > self._window:
            del self._sorted[bisect_left(self._sorted, self._latest.popleft())]


def quantile(ascending: Sequence[float], share: float) -> float:
    """Quantile of sorted numbers, interpolated between neighbours at (n - 1) * share."""
    position = (len(ascending) - 1) * share
    below = int(position)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (position - below) * (ascending[above] - ascending[below])
