"""Residuals in more than double precision: 80-bit where the machine has it, exact sums of two-products elsewhere."""

from __future__ import annotations

import math

import numpy as np

from mlperf.core.arrays import FloatArray

# np.longdouble is plain double on some platforms: look at its precision, not at the platform's name.
HAS_LONG_DOUBLE = bool(np.finfo(np.longdouble).eps < 1e-18)
_SPLITTER = 134217729.0  # 2^27 + 1 cuts a double into two halves (Dekker 1971)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Product and its rounding error: ``a * b == product + error`` exactly (Dekker 1971)."""
    product = a * b
    split_a, split_b = _SPLITTER * a, _SPLITTER * b
    high_a = split_a - (split_a - a)
    high_b = split_b - (split_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
    return product, error


def exact_rows(matrix: FloatArray, vector: FloatArray, start: FloatArray) -> FloatArray:
    """``start - matrix @ vector``, each row rounded once.

    Parameters
    ----------
    matrix : array, shape (n_rows, n_columns)
    vector : array, shape (n_columns,)
    start : array, shape (n_rows,) or (n_rows, n_parts)
        Several parts are added exactly.
    """
    product, error = two_product(matrix, vector)
    parts = np.column_stack([start.reshape(len(matrix), -1), -product, -error])
    return np.array([math.fsum(row) for row in parts.tolist()])


def residual_equations(
    matrix: FloatArray, y: FloatArray, b: FloatArray, r: FloatArray, *, long_double: bool = HAS_LONG_DOUBLE
) -> tuple[FloatArray, FloatArray]:
    """What is left of the augmented system: ``y - r - X b`` and ``-X' r``, formed in extended precision.

    Parameters
    ----------
    matrix : array, shape (n_samples, n_columns)
    y, r : array, shape (n_samples,)
    b : array, shape (n_columns,)
    long_double : bool
        80-bit accumulation, otherwise exact sums of two-products.

    References
    ----------
    Björck (1967), iterative refinement of linear least squares solutions I.
    """
    if long_double:
        wide = matrix.astype(np.longdouble)
        wide_r = r.astype(np.longdouble)
        left = y.astype(np.longdouble) - wide_r - wide @ b.astype(np.longdouble)
        return left.astype(np.float64), -(wide_r @ wide).astype(np.float64)
    left = exact_rows(matrix, b, np.column_stack([y, -r]))
    return left, exact_rows(np.ascontiguousarray(matrix.T), r, np.zeros(len(b)))
