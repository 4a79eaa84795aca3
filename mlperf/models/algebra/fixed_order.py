"""Products summed in one fixed order: the same bits from any BLAS, any number of threads, any memory layout."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray


def evaluate_fixed_order(matrix: FloatArray, coef: FloatArray) -> FloatArray:
    """Matrix times vector, columns added one after the other from the left.

    Each row's result depends on that row alone, so a table and its rows one at a time give the same bits.

    Parameters
    ----------
    matrix : array, shape (n_rows, n_columns)
        Design matrix.
    coef : array, shape (n_columns,)
        Coefficients.

    Returns
    -------
    array, shape (n_rows,)
        In the unit of the response.
    """
    result = np.zeros(matrix.shape[0])
    for column, weight in zip(matrix.T, coef, strict=True):
        result += column * weight
    return result


def squared_length_fixed_order(matrix: FloatArray, factor: FloatArray) -> FloatArray:
    """Squared length of every row of ``matrix @ factor``, for an upper triangular ``factor``.

    Parameters
    ----------
    matrix : array, shape (n_rows, n_columns)
        Design matrix.
    factor : array, shape (n_columns, n_columns)
        Upper triangle, for example the inverse of the triangle of the training rows: the result is then the leverage.

    Returns
    -------
    array, shape (n_rows,)
    """
    columns = np.ascontiguousarray(matrix.T)
    result = np.zeros(matrix.shape[0])
    for index in range(factor.shape[0]):
        result += np.square(evaluate_fixed_order(columns[: index + 1].T, factor[: index + 1, index]))
    return result
