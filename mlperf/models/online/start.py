"""The first rows of a recursion without a prior: a triangle that is exact for any number of rows and any collinearity."""

from __future__ import annotations

import math

import numpy as np

from mlperf.core.arrays import FloatArray

LARGEST_CONDITION = 1e3
"""Columns of unit length; a covariance recursion begun here loses about 2 * log10 of it in digits."""


class ExactStart:
    """Rows so far as the triangle of their QR factorisation.

    Parameters
    ----------
    n_columns : int
        Columns of a row.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self.rows = np.zeros((0, n_columns + 1))

    def add(self, row: FloatArray, target: float, forgetting: float) -> None:
        """Take in one row, shape (n_columns,); earlier ones lose the factor ``forgetting`` of their weight."""
        stacked = np.vstack([self.rows * math.sqrt(forgetting), np.append(row, target)])
        self.rows = np.asarray(np.linalg.qr(stacked, mode="r")) if len(stacked) > self.n_columns + 1 else stacked

    def coefficients(self) -> FloatArray:
        """Least-squares coefficients of least norm, shape (n_columns,)."""
        matrix, scale = self._scaled()
        found = np.linalg.lstsq(matrix, self.rows[:, -1], rcond=None)[0]
        return np.asarray(found / scale)

    def covariance(self) -> FloatArray | None:
        """(X'WX)^-1, shape (n_columns, n_columns); None while the columns are too nearly collinear to go on from."""
        matrix, scale = self._scaled()
        if len(matrix) < self.n_columns:
            return None
        singular, right = np.linalg.svd(matrix)[1:]
        if singular[-1] * LARGEST_CONDITION < singular[0]:
            return None
        half = right / singular[:, None] / scale
        return np.asarray(half.T @ half)

    def _scaled(self) -> tuple[FloatArray, FloatArray]:
        """Columns of unit length, and their lengths (1 for a zero column)."""
        matrix = self.rows[:, :-1]
        length = np.sqrt((matrix**2).sum(axis=0))
        scale = np.where(length > 0, length, 1.0)
        return matrix / scale, scale
