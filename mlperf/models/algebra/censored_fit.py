"""Linear regression with normal errors of which some responses are known only to be larger: maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import FitError

MOST_STEPS = 100
TOLERANCE = 1e-12
LEAST_SHARE = 1e-9
"""Residuals below this share of the responses' spread are rounding: a scale of zero has no likelihood."""


@dataclass(frozen=True, slots=True, eq=False)
class CensoredFit:
    """A maximum of the likelihood.

    Attributes
    ----------
    coef : array, shape (n_columns,)
    sigma : float
        Standard deviation of the errors; of maximum likelihood, not corrected for the number of columns.
    covariance : array, shape (n_columns + 1, n_columns + 1)
        Of the coefficients and log(sigma): the inverse of the observed information.
    log_likelihood : float
    """

    coef: FloatArray
    sigma: float
    covariance: FloatArray
    log_likelihood: float

    @property
    def aic(self) -> float:
        """Akaike's criterion; the scale counts as a parameter."""
        return 2.0 * (len(self.coef) + 1) - 2.0 * self.log_likelihood


def fit_censored(design: FloatArray, y: FloatArray, censored: BoolArray, weight: FloatArray | None = None) -> CensoredFit:
    """Maximise the likelihood by Newton's method in coef / sigma and 1 / sigma, in which it is concave.

    Parameters
    ----------
    design : array, shape (n_rows, n_columns)
        Of full rank on the rows that are not censored.
    y : array, shape (n_rows,)
        Responses; where censored, what the response is known to exceed. Logarithms of times give the log-normal model of
        accelerated failure.
    censored : array of bool, shape (n_rows,)
    weight : array, shape (n_rows,), optional
        How often each row counts, > 0; default once.

    Raises
    ------
    FitError
        Rows that are not censored count no more than the columns, or no maximum was reached.

    References
    ----------
    Olsen (1978), Note on the uniqueness of the maximum likelihood estimator for the Tobit model.
    """
    n_columns = design.shape[1]
    counts = np.ones(len(y)) if weight is None else weight
    n_known = float(counts[~censored].sum())
    if n_known <= n_columns:
        hint = None if weight is None or (weight == 1.0).all() else "Weights count rows: give each row the number of its repeats."
        raise FitError(
            f"got {n_known:g} rows that are not censored, expected more than {n_columns}, the columns of the model", hint=hint
        )
    # Steps are taken on columns of like size: the maximum is the same.
    size = np.maximum(np.abs(design).max(axis=0), np.finfo(float).tiny)
    rows = np.column_stack([-design / size, y])
    at = _start(design / size, y, counts)
    value, gradient, hessian = _likelihood(rows, censored, counts, at)
    for _ in range(MOST_STEPS):
        step = np.asarray(np.linalg.lstsq(-hessian, gradient, rcond=None)[0], dtype=np.float64)
        at, (new, gradient, hessian) = _climbed(rows, censored, counts, at, step, value)
        if new - value <= TOLERANCE * (abs(new) + 1.0):
            return _in_units(at, hessian, size, new)
        value = new
    raise FitError("the likelihood of the censored regression has no maximum that was reached", hint="Offer fewer terms.")


def _start(design: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Least squares as if nothing were censored."""
    root = np.sqrt(weight)
    coef = np.linalg.lstsq(root[:, np.newaxis] * design, root * y, rcond=None)[0]
    spread = float(np.sqrt(np.average((y - design @ coef) ** 2, weights=weight)))
    sigma = max(spread, LEAST_SHARE * max(float(np.ptp(y)), float(np.abs(y).max()), LEAST_SHARE))
    return np.append(coef / sigma, 1.0 / sigma)


def _likelihood(rows: FloatArray, censored: BoolArray, weight: FloatArray, at: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Value, gradient and second derivatives at (coef / sigma, 1 / sigma)."""
    z, scale = rows @ at, at[-1]
    n_known = float(weight[~censored].sum())
    hazard = np.sqrt(2.0 / np.pi) / erfcx(z / np.sqrt(2.0))
    each = weight * np.where(censored, log_ndtr(-z), -0.5 * (z**2 + np.log(2.0 * np.pi)))
    slope = weight * np.where(censored, -hazard, -z)
    bend = weight * np.where(censored, -hazard * (hazard - z), -1.0)
    gradient, hessian = rows.T @ slope, rows.T @ (bend[:, np.newaxis] * rows)
    gradient[-1] += n_known / scale
    hessian[-1, -1] -= n_known / scale**2
    return float(each.sum() + n_known * np.log(scale)), gradient, hessian


def _climbed(
    rows: FloatArray, censored: BoolArray, weight: FloatArray, at: FloatArray, step: FloatArray, value: float
) -> tuple[FloatArray, tuple[float, FloatArray, FloatArray]]:
    """The next point: the step, halved until it leads uphill; the point itself where none does."""
    for _ in range(MOST_STEPS):
        tried = at + step
        if tried[-1] > 0.0:
            found = _likelihood(rows, censored, weight, tried)
            if found[0] >= value:
                return tried, found
        step = 0.5 * step
    return at, _likelihood(rows, censored, weight, at)


def _in_units(at: FloatArray, hessian: FloatArray, size: FloatArray, value: float) -> CensoredFit:
    """The maximum in the units of the response and the columns, its covariance by the delta method."""
    sigma = 1.0 / at[-1]
    coef = at[:-1] * sigma
    slope = np.diag(np.full(len(at), sigma))
    slope[:-1, -1] = -coef * sigma
    slope[-1, -1] = -sigma
    covariance = slope @ np.linalg.pinv(-hessian, hermitian=True) @ slope.T
    units = np.append(1.0 / size, 1.0)
    return CensoredFit(coef / size, float(sigma), units[:, np.newaxis] * covariance * units, value)
