"""Least squares from a thin QR, refined until the last bits are right."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

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


def _exact_rows(matrix: FloatArray, vector: FloatArray, start: FloatArray) -> FloatArray:
    """``start - matrix @ vector``, each row rounded once; several columns of ``start`` are added exactly."""
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
    left = _exact_rows(matrix, b, np.column_stack([y, -r]))
    return left, _exact_rows(np.ascontiguousarray(matrix.T), r, np.zeros(len(b)))


MAX_SWEEPS = 5
# Small problems are always refined; larger ones from this condition on; beyond the last size a QR in memory does not pay.
SMALL_CELLS = 20_000
MIN_CONDITION = 30.0
MAX_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A refined least-squares solution of scaled columns.

    Parameters
    ----------
    q : array, shape (n_samples, rank)
        Orthonormal columns.
    r : array, shape (rank, rank)
        Upper triangular factor.
    inverse : array, shape (rank, rank)
        Of ``r``.
    b : array, shape (rank,)
    residuals : array, shape (n_samples,)
    """

    q: FloatArray
    r: FloatArray
    inverse: FloatArray
    b: FloatArray
    residuals: FloatArray


def solve(matrix: FloatArray, y: FloatArray, *, long_double: bool = HAS_LONG_DOUBLE) -> Solution:
    """Solve ``min |y - matrix b|`` by QR and refine the augmented system in extended precision.

    Parameters
    ----------
    matrix : array, shape (n_samples, rank)
        Full column rank, columns of norm about 1.
    y : array, shape (n_samples,)
    long_double : bool
        How residuals are accumulated (see ``residual_equations``).

    References
    ----------
    Björck (1967).
    """
    n_samples, rank = matrix.shape
    if rank == 0:
        return Solution(np.zeros((n_samples, 0)), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0), y.copy())
    packed, tau, _, _ = lapack.dgeqrf(matrix)
    r = np.triu(packed[:rank])
    q = lapack.dorgqr(packed[:, :rank], tau)[0]
    inverse = lapack.dtrtri(r)[0]
    b = inverse @ (q.T @ y)
    residuals = y - matrix @ b
    condition = float(np.abs(r).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max())
    if matrix.size <= SMALL_CELLS or (condition > MIN_CONDITION and matrix.size <= MAX_CELLS):
        b, residuals = _refined(matrix, y, q, inverse, b, residuals, long_double=long_double)
    return Solution(q, r, inverse, b, residuals)


def _refined(
    matrix: FloatArray,
    y: FloatArray,
    q: FloatArray,
    inverse: FloatArray,
    b: FloatArray,
    residuals: FloatArray,
    *,
    long_double: bool,
) -> tuple[FloatArray, FloatArray]:
    last = np.inf
    for _ in range(MAX_SWEEPS):
        left, gradient = residual_equations(matrix, y, b, residuals, long_double=long_double)
        along = inverse.T @ gradient
        projected = q.T @ left
        step = inverse @ (projected - along)
        size = float(np.abs(step).max(initial=0.0))
        if not size < 0.5 * last:
            break
        last = size
        b = b + step
        residuals = residuals + (left - q @ (projected - along))
        if size <= 1e-17 * float(np.abs(b).max(initial=0.0)):
            break
    return b, residuals
