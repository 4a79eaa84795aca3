"""Means and scales that follow a stream: each knows the rows pushed so far and no other."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray

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
