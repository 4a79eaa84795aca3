"""The final model: refined coefficients of the columns that stayed, with what inference needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.threads import one_blas_thread
from mlperf.models.algebra.aliasing import SubsetFactor, factor_columns
from mlperf.models.algebra.refine import MAX_CELLS, solve
from mlperf.models.algebra.triangle import Triangle
from mlperf.models.selection.active import Active

BLOCK_BYTES = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """A least-squares fit of alias-free columns; rows of weight zero are left out.

    Parameters
    ----------
    names : tuple of str
        Of the coefficients, in R's words.
    assign : array of int, shape (rank,)
        Term of each coefficient from 1, 0 for the constant.
    coef : array, shape (rank,)
        Unit of y per unit of the column.
    scale : array, shape (rank,)
        Powers of two by which the columns were divided.
    factor : array, shape (rank, rank)
        Upper triangle of the scaled, weighted columns.
    inverse : array, shape (rank, rank)
        Its inverse.
    residuals : array, shape (n_weighted,)
        Unit of y, not weighted.
    rss : float
        Weighted, unit of y squared.
    matrix : array, shape (n_weighted, rank)
        Columns as they are (a view where possible).
    y : array, shape (n_weighted,)
        Response minus offset.
    weights : array, shape (n_weighted,), or None
    rows : array of int, shape (n_weighted,)
        Row numbers in the data that were given.
    n_samples : int
        Rows in use, those of weight zero included.
    intercept : bool
    offset : array, shape (n_weighted,), or None
        What was taken off the response; fitted values include it.
    """

    names: tuple[str, ...]
    assign: IntArray
    coef: FloatArray
    scale: FloatArray
    factor: FloatArray
    inverse: FloatArray
    residuals: FloatArray
    rss: float
    matrix: FloatArray
    y: FloatArray
    weights: FloatArray | None
    rows: IntArray
    n_samples: int
    intercept: bool
    offset: FloatArray | None = None

    @property
    def rank(self) -> int:
        """Number of coefficients."""
        return len(self.coef)

    @property
    def df_resid(self) -> int:
        """Residual degrees of freedom."""
        return len(self.y) - self.rank

    @property
    def sigma(self) -> float:
        """Residual standard deviation, NaN without residual degrees of freedom."""
        return float(np.sqrt(self.rss / self.df_resid)) if self.df_resid > 0 else float("nan")

    @property
    def root_weights(self) -> FloatArray | None:
        """Square roots of the weights."""
        return None if self.weights is None else np.sqrt(self.weights)

    def weighted_residuals(self) -> FloatArray:
        """Residuals times the root of the weight, shape (n_weighted,)."""
        root = self.root_weights
        return self.residuals if root is None else self.residuals * root

    def unscaled_factor(self) -> FloatArray:
        """Upper triangle F with ``cov(coef) = sigma**2 F F'``, in the columns' units."""
        return np.asarray(self.inverse / self.scale[:, None])

    def q(self) -> FloatArray:
        """Orthonormal columns that span the weighted model, shape (n_weighted, rank)."""
        scaled = self.matrix / self.scale
        root = self.root_weights
        if root is not None:
            scaled *= root[:, None]
        return np.asarray(scaled @ self.inverse)

    def fitted(self) -> FloatArray:
        """Fitted values, the offset included, shape (n_weighted,)."""
        fitted = self.y - self.residuals
        return fitted if self.offset is None else fitted + self.offset

    def explained_squares(self) -> tuple[float, float]:
        """Weighted squares of the fitted values about their weighted mean, and about zero (R's model sums of squares)."""
        fitted = self.fitted()
        weights = np.ones(len(fitted)) if self.weights is None else self.weights
        centred = fitted - float(weights @ fitted) / float(weights.sum())
        return float(weights @ np.square(centred)), float(weights @ np.square(fitted))

    def total_squares(self) -> tuple[float, float]:
        """Weighted squares of y about its weighted mean, and about zero."""
        if self.weights is None:
            return float(np.square(self.y - self.y.mean()).sum()), float(self.y @ self.y)
        mean = float(self.weights @ self.y) / float(self.weights.sum())
        return float(self.weights @ np.square(self.y - mean)), float(self.weights @ np.square(self.y))


def fit_columns(
    matrix: FloatArray,
    y: FloatArray,
    weights: FloatArray | None,
    names: tuple[str, ...],
    assign: IntArray,
    rows: IntArray,
    n_samples: int,
    triangle: Triangle,
    columns: IntArray,
    offset: FloatArray | None = None,
) -> LinearFit:
    """Fit columns that are known to be independent.

    Small data: QR of the scaled columns, refined in extended precision. Large data: the triangle's solution and one pass of
    refinement over row blocks, without a copy of the columns.

    Parameters
    ----------
    matrix : array, shape (n_weighted, rank)
        The constant included.
    y : array, shape (n_weighted,)
    weights : array, shape (n_weighted,), optional
    names, assign, rows, n_samples, offset
        See ``LinearFit``.
    triangle : Triangle
        Of these rows.
    columns : array of int, shape (rank,)
        Where in the triangle the columns are.
    """
    scale = triangle.scale[columns]
    unit = float(triangle.scale[-1])
    with one_blas_thread():
        if matrix.size <= MAX_CELLS:
            made = _small(matrix, y, weights, scale, unit)
        else:
            made = _large(matrix, y, weights, scale, unit, factor_columns(triangle, columns, 0.0))
    factor, inverse, coef, residuals, rss = made
    solved = (coef, scale, factor, inverse, residuals, rss)
    return LinearFit(names, assign, *solved, matrix, y, weights, rows, n_samples, bool(triangle.intercept), offset)


def refined_coefficients(active: Active, X: FloatArray, y: FloatArray) -> FloatArray:
    """Coefficients of a model in triangle coordinates after one more pass over its data; no copy is made.

    Parameters
    ----------
    active : Active
        Model on the triangle of ``[1 X y]``, unweighted.
    X : array, shape (n_samples, n_features)
    y : array, shape (n_samples,)

    Returns
    -------
    array, shape (rank,)
        In the units of the data, the constant first.

    References
    ----------
    Björck (1996), section 6.6.5 (corrected semi-normal equations).
    """
    triangle, first = active.triangle, int(active.triangle.intercept)
    columns, b, inverse = active.slopes()
    scale, unit = triangle.scale[columns], float(triangle.scale[-1])
    means = triangle.r[0] / (triangle.r[0, 0] * triangle.scale[0]) if first else np.zeros(len(triangle.scale))
    coef = np.zeros(X.shape[1])
    coef[columns - first] = b * unit / scale
    level = float(means[-1] - means[columns] @ b) * unit
    gradient, total = np.zeros(X.shape[1]), 0.0
    with one_blas_thread():
        for rows in _blocks(X):
            residual = y[rows] - X[rows] @ coef
            residual -= level
            total += float(residual.sum())
            gradient += residual @ X[rows]
    b = b + inverse @ ((gradient[columns - first] / scale - means[columns] * total) / unit)
    slopes = b * unit / scale
    return np.concatenate([[(means[-1] - means[columns] @ b) * unit], slopes]) if first else slopes


Made = tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]


def _small(matrix: FloatArray, y: FloatArray, weights: FloatArray | None, scale: FloatArray, unit: float) -> Made:
    scaled = np.divide(matrix, scale, order="F")
    response = y / unit
    root = None if weights is None else np.sqrt(weights)
    if root is not None:
        scaled *= root[:, None]
        response = response * root
    solution = solve(scaled, response)
    residuals = solution.residuals if root is None else solution.residuals / root
    rss = float(solution.residuals @ solution.residuals) * unit**2
    return solution.r, solution.inverse, solution.b * unit / scale, residuals * unit, rss


def _large(
    matrix: FloatArray, y: FloatArray, weights: FloatArray | None, scale: FloatArray, unit: float, subset: SubsetFactor
) -> Made:
    inverse = lapack.dtrtri(subset.factor)[0] if len(scale) else np.zeros((0, 0))
    b = inverse @ subset.side
    residuals, gradient, _ = _pass(matrix, y / unit, weights, b, scale)
    b = b + inverse @ (inverse.T @ gradient)
    residuals, _, rss = _pass(matrix, y / unit, weights, b, scale)
    return subset.factor, inverse, b * unit / scale, residuals * unit, rss * unit**2


def _pass(
    matrix: FloatArray, y: FloatArray, weights: FloatArray | None, b: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    residuals = np.empty(len(y))
    gradient = np.zeros(len(b))
    rss = 0.0
    slopes = b / scale
    for rows in _blocks(matrix):
        residual = y[rows] - matrix[rows] @ slopes
        residuals[rows] = residual
        weighted = residual if weights is None else residual * weights[rows]
        gradient += weighted @ matrix[rows]
        rss += float(residual @ weighted)
    return residuals, gradient / scale, rss


def _blocks(matrix: FloatArray) -> Iterator[slice]:
    step = max(512, BLOCK_BYTES // (8 * max(matrix.shape[1], 1)))
    for start in range(0, len(matrix), step):
        yield slice(start, start + step)
