"""Random draws of a fitted model: its coefficients from their joint distribution, its runs from the residuals."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles

ROWS_A_CHUNK = 2048


def coefficient_draws(
    coef: FloatArray, factor: FloatArray, sigma: float, df: float, rng: np.random.Generator, size: int
) -> FloatArray:
    """Joint draws of the coefficients of a linear fit, multivariate Student.

    Parameters
    ----------
    coef : array, shape (n_columns,)
        Estimates.
    factor : array, shape (n_columns, n_columns)
        Inverse of the triangle of the fitted (weighted) rows: their unscaled covariance is ``factor @ factor.T``.
    sigma : float
        Residual standard deviation of the fitted rows.
    df : float
        Its degrees of freedom.
    rng : Generator
    size : int
        Number of draws.

    Returns
    -------
    array, shape (size, n_columns)
    """
    normal = rng.standard_normal((size, len(coef)))
    stretch = sigma * np.sqrt(df / rng.chisquare(df, size)) if np.isfinite(df) else np.full(size, sigma)
    return coef + stretch[:, None] * (normal @ factor.T)


def run_noise(rng: np.random.Generator, shape: tuple[int, ...], sigma: float, residuals: ResidualQuantiles | None) -> FloatArray:
    """Noise of single runs: standard deviation ``sigma``, with the shape of the left-out residuals where they are known.

    Returns
    -------
    array of that shape
        In the unit of ``sigma`` (a fraction for relative noise).
    """
    if residuals is None or residuals.spread == 0.0:
        return sigma * rng.standard_normal(shape)
    drawn = residuals.at(rng.uniform(size=shape)) - residuals.at(np.array(0.5))
    return drawn * (sigma / residuals.spread)


def row_bootstrap(n_rows: int, size: int, seed: int) -> IntArray:
    """How often each row enters each resample.

    Components fitted on the same rows call this with the same seed and so share their resamples: draw b of one belongs to
    draw b of the other, and their correlation survives.

    Returns
    -------
    array of int, shape (size, n_rows)
        Every row of it sums to ``n_rows``.
    """
    drawn = np.random.default_rng([seed, n_rows]).integers(0, n_rows, (size, n_rows))
    offset = drawn + n_rows * np.arange(size)[:, None]
    return np.bincount(offset.ravel(), minlength=size * n_rows).reshape(size, n_rows)


def bootstrap_coefficients(matrix: FloatArray, y: FloatArray, counts: IntArray) -> FloatArray:
    """Least squares coefficients of every resample, all at once.

    Parameters
    ----------
    matrix : array, shape (n_samples, n_columns)
        Design of full column rank, rows already times the square root of their weight.
    y : array, shape (n_samples,)
        Response, weighted alike.
    counts : array of int, shape (size, n_samples)
        From `row_bootstrap`.

    Returns
    -------
    array, shape (size, n_columns)
        A resample in which columns are aliased keeps the part of the full fit that it says nothing about.

    Notes
    -----
    Works on the orthonormal basis Q of the design and the residuals e of the full fit: coef_b = coef + R^-1 (Q' W_b Q)^-1 Q' W_b e,
    so that nothing cancels.
    """
    n_columns = matrix.shape[1]
    basis, triangle = np.linalg.qr(matrix)
    coef = np.linalg.solve(triangle, basis.T @ y)
    residual = y - matrix @ coef
    left, right = np.triu_indices(n_columns)
    moments = np.zeros((len(counts), len(left) + n_columns))
    for start in range(0, len(y), ROWS_A_CHUNK):
        rows = slice(start, start + ROWS_A_CHUNK)
        products = np.hstack([basis[rows][:, left] * basis[rows][:, right], basis[rows] * residual[rows, None]])
        moments += counts[:, rows].astype(np.float64) @ products
    gram = np.empty((len(counts), n_columns, n_columns))
    gram[:, left, right] = gram[:, right, left] = moments[:, : len(left)]
    step = np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ moments[:, len(left) :, None]
    return coef + np.linalg.solve(triangle, step[..., 0].T).T
