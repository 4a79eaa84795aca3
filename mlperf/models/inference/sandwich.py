"""Standard errors that do not trust the noise model: bread, meat, bread."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.algebra.small_system import reduce_rows


def sandwich_factor(matrix: FloatArray, *, bread: FloatArray, score: FloatArray, groups: IntArray | None = None) -> FloatArray:
    """Upper triangular F with F F' = B^-1 M B^-1, where B = X' diag(bread) X and M = X' diag(score**2) X.

    Parameters
    ----------
    matrix : array, shape (n_rows, n_columns)
        X.
    bread : array, shape (n_rows,)
        >= 0.
    score : array, shape (n_rows,)
        Influence of each row on the estimating equation.
    groups : array of int, shape (n_rows,), optional
        Scores are summed within groups before squaring (cluster-robust errors).

    Returns
    -------
    array, shape (n_columns, n_columns)
        Directions that the rows say nothing about get zero.

    References
    ----------
    Huber (1967); White (1980); Liang and Zeger (1986) for groups.
    """
    return robust_factor(reduce_rows(matrix, score, bread).inverse_factor(), matrix, score, groups)


def robust_factor(left: FloatArray, matrix: FloatArray, score: FloatArray, groups: IntArray | None = None) -> FloatArray:
    """The same where a factor of the inverse of the bread is known: ``left left' = B^-1``, shape (n_columns, n_columns)."""
    influence = (matrix * score[:, None]) @ left
    if groups is not None:
        influence = np.stack([np.bincount(groups, column) for column in influence.T], axis=1)
    root = np.asarray(np.linalg.qr(influence, mode="r")) if len(influence) >= influence.shape[1] else influence
    return upper_root(left @ root.T)


def upper_root(root: FloatArray) -> FloatArray:
    """Upper triangular F with F F' = root root', by QR of the rows in reverse order; shape (n_rows, n_rows)."""
    size = len(root)
    reversed_r = np.linalg.qr(root[::-1].T, mode="r")
    square = np.zeros((size, size))
    square[: len(reversed_r)] = reversed_r
    return np.ascontiguousarray(square.T[::-1, ::-1])
