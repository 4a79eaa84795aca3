"""Standard errors, t and p of the final model: statsmodels computes what is printed, our own triangle checks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.special import stdtr, stdtrit

from mlperf.core.arrays import FloatArray
from mlperf.models.selection.linear import LinearFit

# Above this many rows statsmodels costs more than the whole selection: its results are made on first access.
STATSMODELS_ROWS = 5000
# Within this relative difference statsmodels' numbers are taken, beyond it the refined ones.
AGREEMENT = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """Tests of the coefficients as if the model had been given; every array has shape (rank,).

    Parameters
    ----------
    std_err, t_value, p_value : array
    lower, upper : array
        95 % confidence bounds.
    engine : {"statsmodels", "triangle"}
        Where the printed numbers come from.
    disagreement : float
        Largest relative difference between the two in coefficients or standard errors; NaN where only one was computed.
    """

    std_err: FloatArray
    t_value: FloatArray
    p_value: FloatArray
    lower: FloatArray
    upper: FloatArray
    engine: str
    disagreement: float


def infer(fit: LinearFit) -> Inference:
    """Inference on the coefficients of a final model."""
    std_err = own_std_err(fit)
    disagreement = float("nan")
    engine = "triangle"
    t_value = p_value = None
    if fit.rank and fit.df_resid > 0 and len(fit.y) <= STATSMODELS_ROWS and fit.rss > 0:
        results = scaled_statsmodels(fit)
        # Of a nearly singular design statsmodels may find negative variances: they disagree and are not shown.
        with np.errstate(invalid="ignore"):
            coef, theirs = np.asarray(results.params) / fit.scale, np.asarray(results.bse) / fit.scale
        disagreement = max(_difference(coef, fit.coef, std_err), _difference(theirs, std_err, std_err))
        if disagreement <= AGREEMENT:
            std_err, t_value, p_value, engine = theirs, np.asarray(results.tvalues), np.asarray(results.pvalues), "statsmodels"
    if t_value is None or p_value is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            t_value = fit.coef / std_err
            p_value = 2.0 * stdtr(fit.df_resid, -np.abs(t_value)) if fit.df_resid > 0 else np.full(fit.rank, np.nan)
    half = float(stdtrit(fit.df_resid, 0.975)) * std_err if fit.df_resid > 0 else np.full(fit.rank, np.nan)
    return Inference(std_err, t_value, p_value, fit.coef - half, fit.coef + half, engine, disagreement)


def own_std_err(fit: LinearFit) -> FloatArray:
    """Standard errors from the inverse of the triangle, shape (rank,)."""
    factor = fit.unscaled_factor()
    return np.asarray(fit.sigma * np.sqrt(np.einsum("ij,ij->i", factor, factor)))


def _difference(a: FloatArray, b: FloatArray, std_err: FloatArray) -> float:
    """Largest relative difference; a coefficient near zero is measured against its standard error."""
    size = np.maximum(np.abs(b), 1e-3 * std_err)
    with np.errstate(invalid="ignore", over="ignore"):
        worst = float((np.abs(a - b) / np.where(size > 0, size, 1.0)).max(initial=0.0))
    return worst if np.isfinite(worst) else float("inf")


def scaled_statsmodels(fit: LinearFit) -> Any:
    """The scaled columns fitted by statsmodels with QR (``RegressionResultsWrapper``)."""
    return _model(fit, fit.matrix / fit.scale).fit(method="qr")


def statsmodels_results(fit: LinearFit) -> Any:
    """The columns as they are as a statsmodels results object, in the data's units.

    statsmodels inverts the products of the columns, which loses all digits where their scales differ; so its object is given the
    refined coefficients and the covariance of the scaled triangle, and computes everything else itself.
    """
    import pandas as pd
    from statsmodels.regression.linear_model import OLSResults, RegressionResults, RegressionResultsWrapper

    model = _model(fit, pd.DataFrame(fit.matrix, columns=list(fit.names)))
    model.rank, model.df_resid, model.df_model = fit.rank, float(fit.df_resid), float(fit.rank - int(fit.intercept))
    factor = fit.unscaled_factor()
    model.normalized_cov_params = factor @ factor.T
    model.pinv_wexog = factor @ fit.q().T
    kind = OLSResults if fit.weights is None else RegressionResults
    made = kind(model, fit.coef, normalized_cov_params=model.normalized_cov_params, scale=fit.sigma**2)
    return RegressionResultsWrapper(made)


def statsmodels_summary(fit: LinearFit, response: str) -> str | None:
    """What statsmodels prints of a final model, for independent rows; without the date, so that the same data give the same text.

    None where there is nothing to test: no coefficient, or as many as rows.
    """
    if not fit.rank or fit.df_resid < 1:
        return None
    with catch_warnings(), np.errstate(all="ignore"):
        # Of few rows, or of a perfect fit, some of its residual tests cannot be formed; the text then has nan.
        simplefilter("ignore")
        summary = statsmodels_results(fit).summary(yname=response)
    for row in summary.tables[0]:
        if row[0].data.strip() in ("Date:", "Time:"):
            row[0].data = row[1].data = ""
    return "\n".join(line.rstrip() for line in summary.as_text().splitlines())


def _model(fit: LinearFit, columns: Any) -> Any:
    from statsmodels.regression.linear_model import OLS, WLS

    if fit.weights is None:
        return OLS(fit.y, columns, hasconst=fit.intercept)
    return WLS(fit.y, columns, weights=fit.weights, hasconst=fit.intercept)
