"""The triangle by Householder QR of row blocks: backward stable, for small or ill-conditioned data."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import lapack

from mlperf.core.arrays import FloatArray
from mlperf.models.algebra.scaling import column_norms, powers_of_two

# Blocks of about this size stay in the second-level cache while they are factored.
BLOCK_BYTES = 400_000
# NumPy's own buffer of 64 kB would weigh more than half of a small table.
SMALL_BUFFER = 512


@lru_cache(maxsize=64)
def _upper(n: int) -> FloatArray:
    return np.triu(np.ones((n, n)))


def upper_factor(matrix: FloatArray) -> FloatArray:
    """Upper triangular factor of a matrix, shape (n_columns, n_columns), padded with zero rows where it is short.

    Parameters
    ----------
    matrix : array, shape (n_rows, n_columns)
        Overwritten where it is in Fortran order.
    """
    n_rows, n_columns = matrix.shape
    if n_columns == 0 or n_rows == 0:
        return np.zeros((n_columns, n_columns))
    packed = lapack.dgeqrf(matrix, overwrite_a=1)[0]
    if n_rows >= n_columns:
        return np.asarray(packed[:n_columns] * _upper(n_columns))
    factor = np.zeros((n_columns, n_columns))
    factor[:n_rows] = np.triu(packed)
    return factor


def block_triangle(
    X: FloatArray, y: FloatArray, w: FloatArray | None, *, intercept: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Triangle of the scaled, weighted [1 X y] by QR.

    Returns
    -------
    r : array, shape (n_columns + 1, n_columns + 1)
    scale : array, shape (n_columns + 1,)
    norms : array, shape (n_columns + 1,)
        Of the scaled columns.
    """
    n_samples, first = len(y), int(intercept)
    n_all = X.shape[1] + first + 1
    root = None if w is None else np.sqrt(w)
    # At least two blocks, so that the scaled copy is never as large as the data.
    block_rows = max(4 * n_all, min(BLOCK_BYTES // (8 * n_all), -(-n_samples // 2)))
    norms = _all_norms(X, y, root, intercept=intercept, block_rows=block_rows)
    scale = powers_of_two(norms)
    factor = np.zeros((0, n_all), order="F")
    for start in range(0, n_samples, block_rows):
        rows = slice(start, start + block_rows)
        part = y[rows]
        stacked = np.empty((len(factor) + len(part), n_all), order="F")
        stacked[: len(factor)] = factor
        block = stacked[len(factor) :]
        if intercept:
            block[:, 0] = 1.0 / scale[0]
        buffer_cells = np.setbufsize(SMALL_BUFFER)
        np.divide(X[rows], scale[first:-1], out=block[:, first:-1])
        np.setbufsize(buffer_cells)
        np.divide(part, scale[-1], out=block[:, -1])
        if root is not None:
            block *= root[rows, None]
        factor = upper_factor(stacked)
        # The next block must not stand in memory beside this one.
        del stacked, block
    return factor, scale, norms / scale


def _all_norms(X: FloatArray, y: FloatArray, root: FloatArray | None, *, intercept: bool, block_rows: int) -> FloatArray:
    if root is None:
        columns = column_norms(X)
        response = column_norms(y[:, None])
    else:
        parts = [column_norms(X[at : at + block_rows] * root[at : at + block_rows, None]) for at in range(0, len(y), block_rows)]
        columns = column_norms(np.array(parts)) if parts else np.zeros(X.shape[1])
        response = column_norms((y * root)[:, None])
    if not intercept:
        return np.concatenate([columns, response])
    constant = np.sqrt(len(y)) if root is None else np.linalg.norm(root)
    return np.concatenate([[constant], columns, response])
