"""Means and scales that follow a stream: each knows the rows pushed so far and no other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.datasets.streams.columns import COUNTER, column_of

LARGEST_SCORE = 4.0
LEAST_VARIANCE = 1e-8
"""A column that has hardly moved (its values are logarithms) stays near zero."""


class RunningScaler:
    """Columns minus their mean so far, over their standard deviation so far, held within +-4.

    Parameters
    ----------
    n_columns : int

    Attributes
    ----------
    n_rows : int
        Rows seen.
    mean : array, shape (n_columns,)

    References
    ----------
    Welford (1962), for sums of squares that do not cancel.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_rows = 0
        self.mean = np.zeros(n_columns)
        self._squares = np.zeros(n_columns)

    def push(self, row: FloatArray) -> FloatArray:
        """Take in a row and return it scaled, shape (n_columns,)."""
        self.n_rows += 1
        before = row - self.mean
        self.mean += before / self.n_rows
        self._squares += before * (row - self.mean)
        deviation = np.sqrt(np.maximum(self._squares / self.n_rows, LEAST_VARIANCE))
        return np.asarray(np.clip((row - self.mean) / deviation, -LARGEST_SCORE, LARGEST_SCORE))


class MovingAverages:
    """Exponentially weighted means of columns.

    Parameters
    ----------
    share : float
        Weight of the newest row, in (0, 1].
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self.mean: FloatArray | None = None

    def push(self, row: FloatArray) -> FloatArray:
        """Take in a row and return the mean including it, shape (n_columns,)."""
        self.mean = row.copy() if self.mean is None else self.mean + self.share * (row - self.mean)
        return self.mean


class Rates:
    """Turns one sample after the other into rates.

    Parameters
    ----------
    columns : sequence of str
        Of every sample, in order.
    already : bool
        Whether counters come as rates.

    Attributes
    ----------
    is_counter : bool array, shape (n_columns,)
    n_resets : int
        Samples in which a counter fell; its rate then counts as 0.
    """

    def __init__(self, columns: Sequence[str], *, already: bool = False) -> None:
        self.columns = tuple(columns)
        self.is_counter = np.array([column_of(name).kind == COUNTER for name in columns], dtype=bool)
        self.n_resets = 0
        self._already = already
        self._before: tuple[float, FloatArray] | None = None

    def push(self, t_s: float, values: FloatArray) -> FloatArray | None:
        """Take in a sample, shape (n_columns,); returns rates per second and gauges, None for a first sample of counters.

        Raises
        ------
        UsageError
            A sample that is not later than the one before.
        """
        before, self._before = self._before, (t_s, values)
        if self._already:
            return values
        if before is None:
            return None
        if not t_s > before[0]:
            raise UsageError(f"got a sample at {t_s} s after one at {before[0]} s, expected a later one")
        grown = values - before[1]
        self.n_resets += bool((grown[self.is_counter] < 0).any())
        return np.where(self.is_counter, np.maximum(grown, 0.0) / (t_s - before[0]), values)
