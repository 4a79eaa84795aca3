"""Diagnostics of a final model from one thin QR: leverage, influence, robust errors, inflation factors, residual tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.algebra.scaling import powers_of_two
from mlperf.models.selection.linear import LinearFit

SHAPIRO_ROWS = 5000
# R takes a leverage this close to 1 for 1: the row determines a coefficient alone.
FULL_LEVERAGE = 1.0 - 10.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """How much each row moves the fit; every array has shape (n_weighted,), NaN where the leverage is 1.

    Parameters
    ----------
    leverage : array
        Diagonal of the hat matrix.
    rstandard : array
        Internally studentised residuals.
    rstudent : array
        Externally studentised residuals (sigma without the row).
    cooks_distance : array
    dffits : array
    press : float
        Sum of squared leave-one-out residuals (weighted); infinite where a leverage is 1.

    References
    ----------
    Belsley, Kuh and Welsch (1980), Regression Diagnostics, chapter 2; Cook (1977).
    """

    leverage: FloatArray
    rstandard: FloatArray
    rstudent: FloatArray
    cooks_distance: FloatArray
    dffits: FloatArray
    press: float


def influence(fit: LinearFit, q: FloatArray) -> Influence:
    """Influence of every row.

    Parameters
    ----------
    fit : LinearFit
    q : array, shape (n_weighted, rank)
        Orthonormal columns of the weighted model.
    """
    leverage = np.einsum("ij,ij->i", q, q)
    leverage[leverage >= FULL_LEVERAGE] = 1.0
    residuals = fit.weighted_residuals()
    with np.errstate(divide="ignore", invalid="ignore"):
        left = 1.0 - leverage
        left_out = residuals / left
        own = np.where(left > 0, left, np.nan)
        rstandard = residuals / (fit.sigma * np.sqrt(own))
        sigma_without = np.sqrt(np.maximum(fit.rss - residuals**2 / own, 0.0) / (fit.df_resid - 1))
        rstudent = residuals / (sigma_without * np.sqrt(own))
        cooks = rstandard**2 * leverage / (own * fit.rank)
        dffits = rstudent * np.sqrt(leverage / own)
        press = float("inf") if (left <= 0).any() else float(left_out @ left_out)
    return Influence(leverage, rstandard, rstudent, cooks, dffits, press)


def robust_std_err(fit: LinearFit, q: FloatArray, leverage: FloatArray, kind: str = "HC3") -> FloatArray:
    """Heteroscedasticity-consistent standard errors of the coefficients, shape (rank,).

    Parameters
    ----------
    fit : LinearFit
    q : array, shape (n_weighted, rank)
    leverage : array, shape (n_weighted,)
    kind : {"HC0", "HC1", "HC2", "HC3"}

    References
    ----------
    MacKinnon and White (1985).
    """
    power = {"HC0": 0.0, "HC1": 0.0, "HC2": 0.5, "HC3": 1.0}[kind]
    with np.errstate(divide="ignore", invalid="ignore"):
        stretched = fit.weighted_residuals() / (1.0 - leverage) ** power
        scores = (q * stretched[:, None]) @ fit.unscaled_factor().T
    std_err = np.sqrt(np.einsum("ij,ij->j", scores, scores))
    if power > 0 and (leverage == 1.0).any():
        return np.full(fit.rank, np.nan)
    return np.asarray(std_err * np.sqrt(len(fit.y) / fit.df_resid) if kind == "HC1" else std_err)


def centred_cross_products(fit: LinearFit) -> tuple[IntArray, FloatArray]:
    """Positions of the slopes and ``X'WX`` of their scaled columns about the weighted means (about zero without a constant)."""
    first = int(fit.intercept)
    slopes = np.arange(first, fit.rank)
    upper = fit.factor[first:, first:]
    return slopes, upper.T @ upper


def variance_inflation(fit: LinearFit) -> tuple[FloatArray, dict[int, tuple[float, int]]]:
    """Variance inflation factors.

    Returns
    -------
    per_coefficient : array, shape (rank,)
        Of its own for a term of one column, the generalised factor of its term otherwise; NaN for the constant.
    per_term : dict
        Term number to (generalised factor, columns).

    References
    ----------
    Fox and Monette (1992), generalized collinearity diagnostics.
    """
    slopes, cross = centred_cross_products(fit)
    inverse = fit.inverse[slopes[0] :, slopes[0] :] if len(slopes) else np.zeros((0, 0))
    covariance = inverse @ inverse.T
    assign = fit.assign[slopes]
    single = np.diagonal(covariance) * np.diagonal(cross)
    factors = np.full(fit.rank, np.nan)
    factors[slopes] = single
    terms: dict[int, tuple[float, int]] = {}
    for term in dict.fromkeys(assign.tolist()):
        places = np.flatnonzero(assign == term)
        if len(places) == 1:
            terms[term] = (float(single[places[0]]), 1)
            continue
        block = np.ix_(places, places)
        value = float(np.linalg.det(covariance[block] @ cross[block]))
        terms[term] = (value, len(places))
        factors[slopes[places]] = value
    return factors, terms


def condition(fit: LinearFit) -> tuple[float, FloatArray]:
    """Condition number and condition indices of the columns scaled to equal length, the constant included.

    Returns
    -------
    number : float
    indices : array, shape (rank,)
        Ascending; the last is the condition number.

    References
    ----------
    Belsley, Kuh and Welsch (1980), chapter 3.
    """
    if fit.rank == 0:
        return 1.0, np.zeros(0)
    lengths = np.sqrt(np.einsum("ij,ij->j", fit.factor, fit.factor))
    singular = np.linalg.svd(fit.factor / lengths, compute_uv=False)
    indices = singular[0] / singular
    return float(indices[-1]), indices


@dataclass(frozen=True, slots=True)
class Test:
    """A test of the residuals: statistic, degrees of freedom (one or two), p-value; NaN where it cannot be formed."""

    statistic: float
    df: tuple[int, ...]
    p_value: float


def residual_tests(fit: LinearFit, q: FloatArray) -> dict[str, Test]:
    """Breusch-Pagan, White, RESET, and below 5000 rows Shapiro-Wilk, of a fit with the orthonormal columns ``q``."""
    tests = {"breusch_pagan": breusch_pagan(fit, q), "white": white(fit), "reset": reset(fit, q)}
    if 3 <= len(fit.y) < SHAPIRO_ROWS:
        from scipy.stats import shapiro

        residuals = fit.weighted_residuals()
        # The test takes residuals of almost any fit for equal where their unit is large: give it ones of about 1.
        unit = powers_of_two(np.array([np.ptp(residuals)]))
        found = shapiro(residuals / unit) if np.ptp(residuals) > 0 else (float("nan"), float("nan"))
        tests["shapiro"] = Test(float(found[0]), (len(fit.y),), float(found[1]))
    return tests


def breusch_pagan(fit: LinearFit, q: FloatArray) -> Test:
    """Do the squared residuals depend on the columns? Studentised form: ``n R^2`` of that regression.

    References
    ----------
    Koenker (1981).
    """
    return _squares_test(fit.weighted_residuals(), q)


def white(fit: LinearFit) -> Test:
    """The same on the fitted values and their squares (White's test in its short form)."""
    fitted = fit.fitted()
    basis = _orthonormal(np.column_stack([np.ones_like(fitted), fitted, fitted**2]), 1e-7)
    return _squares_test(fit.weighted_residuals(), basis)


def _squares_test(residuals: FloatArray, basis: FloatArray) -> Test:
    squares = residuals**2
    df = basis.shape[1] - 1
    mean = float(squares.mean())
    if df < 1 or not mean > 0:
        return Test(float("nan"), (max(df, 0),), float("nan"))
    centred = squares / mean - 1.0
    if not centred.any():
        return Test(0.0, (df,), 1.0)
    explained = basis.T @ centred
    statistic = len(residuals) * float(explained @ explained) / float(centred @ centred)
    return Test(statistic, (df,), float(chdtrc(df, statistic)))


def reset(fit: LinearFit, q: FloatArray) -> Test:
    """Do powers 2 and 3 of the fitted values explain anything more (Ramsey 1969)."""
    fitted = fit.fitted()
    root = fit.root_weights
    largest = float(np.abs(fitted).max(initial=0.0)) or 1.0
    powers = np.column_stack([(fitted / largest) ** 2, (fitted / largest) ** 3])
    if root is not None:
        powers *= root[:, None]
    df = (2, len(fit.y) - fit.rank - 2)
    if df[1] <= 0 or not fit.rss > 0:
        return Test(float("nan"), df, float("nan"))
    lengths = np.sqrt(np.einsum("ij,ij->j", powers, powers))
    rest = powers - q @ (q.T @ powers)
    rest -= q @ (q.T @ rest)
    basis = _orthonormal(rest, 1e-7, lengths)
    gain = basis.T @ fit.weighted_residuals()
    explained = float(gain @ gain)
    left = fit.rss - explained
    if not left > 0:
        return Test(float("nan"), df, float("nan"))
    statistic = (explained / df[0]) / (left / df[1])
    return Test(statistic, df, float(fdtrc(*df, statistic)))


def _orthonormal(columns: FloatArray, tol: float, lengths: FloatArray | None = None) -> FloatArray:
    """Orthonormal basis of some columns; one whose remainder is below ``tol`` times its length is left out."""
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns)) if lengths is None else lengths
    basis: list[FloatArray] = []
    for column, length in zip(columns.T, lengths, strict=True):
        rest = column.copy()
        for _ in range(2):
            for direction in basis:
                rest -= (direction @ rest) * direction
        size = float(np.linalg.norm(rest))
        if size > tol * length:
            basis.append(rest / size)
    return np.array(basis).T if basis else np.zeros((len(columns), 0))


def durbin_watson(residuals: FloatArray) -> tuple[float, float]:
    """Durbin-Watson statistic and lag-1 autocorrelation of residuals that are ordered in time."""
    squares = float(residuals @ residuals)
    if not squares > 0:
        return float("nan"), float("nan")
    steps = np.diff(residuals)
    return float(steps @ steps) / squares, float(residuals[1:] @ residuals[:-1]) / squares
