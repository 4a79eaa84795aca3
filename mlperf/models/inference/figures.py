"""What a report is about, and how well the model fits in numbers: R2, F, AIC and their kin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from mlperf.models.selection.linear import LinearFit


@dataclass(frozen=True, slots=True, eq=False)
class FitIdentity:
    """What was fitted and how it was chosen.

    ``formula`` of the final model, ``terms`` in it, ``noise`` (absolute or relative), ``criterion``, ``direction`` and penalty
    ``k`` of the selection, ``n_candidates`` models compared; ``n_samples`` in use, ``n_dropped`` for missing values; ``rank``;
    ``aliased`` columns each with its linear relation; ``saturated_start`` and ``perfect`` flags; ``baselines``: the level of each
    factor that the coefficients of its other levels are differences from (``"gpu A100"``), empty in files of earlier releases.
    """

    formula: str
    terms: tuple[str, ...]
    noise: str
    weighted: bool
    criterion: str
    direction: str
    k: float
    n_candidates: int
    n_samples: int
    n_dropped: int
    rank: int
    df_resid: int
    aliased: tuple[str, ...]
    saturated_start: bool
    perfect: bool
    baselines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FitFigures:
    """How well the model fits, in numbers; NaN where a figure does not exist.

    Parameters
    ----------
    r2, r2_adj : float
        About the (weighted) mean, also without a constant; a constant model has 0.
    r2_uncentered, r2_adj_uncentered, f_value_uncentered, f_p_value_uncentered : float or None
        R's and statsmodels' figures for models without a constant (about zero); None with one.
    f_value, f_p_value : float
        Test of all terms against the constant; NaN without a constant, where the two are not nested.
    sigma, rss : float
    aic, aicc, bic : float
        On the scale of R's ``step``: ``n log(RSS / n)`` plus the penalty.
    aic_full, bic_full : float
        R's ``AIC()`` and ``BIC()``: all constants, sigma counted, weights included.
    r2_adj_unweighted : float or None
        Of a weighted fit, on the raw scale; None without weights.
    """

    r2: float
    r2_adj: float
    r2_uncentered: float | None
    r2_adj_uncentered: float | None
    f_value: float
    f_df: tuple[int, int]
    f_p_value: float
    f_value_uncentered: float | None
    f_p_value_uncentered: float | None
    sigma: float
    rss: float
    aic: float
    aicc: float
    bic: float
    aic_full: float
    bic_full: float
    r2_adj_unweighted: float | None


def fit_figures(fit: LinearFit, floor: float) -> FitFigures:
    """Figures of a fit.

    Parameters
    ----------
    fit : LinearFit
    floor : float
        RSS that counts as perfect, for the logarithms.
    """
    centred, raw = fit.explained_squares()
    n, rank, df = len(fit.y), fit.rank, fit.df_resid
    slopes = rank - int(fit.intercept)
    r2 = r2_adj = 0.0 if df > 0 or slopes > 0 else float("nan")
    uncentred: tuple[float | None, ...] = (None, None, None, None)
    f_value = float("nan")
    if fit.intercept and slopes > 0:
        r2 = _share(fit.rss, centred + fit.rss)
        f_value = _f_value(centred, slopes, fit.rss, df)
    if not fit.intercept:
        r2 = _share(fit.rss, fit.total_squares()[0]) if rank else 0.0
        share = _share(fit.rss, raw + fit.rss) if rank else 0.0
        f_raw = _f_value(raw, rank, fit.rss, df)
        uncentred = (share, _adjusted(share, n, df) if rank else 0.0, f_raw, _f_p(f_raw, rank, df))
    if slopes > 0:
        r2_adj = _adjusted(r2, n - 1, df)
    rss = max(fit.rss, floor)
    edf = fit.n_samples - df
    aic = fit.n_samples * float(np.log(rss / fit.n_samples)) + 2.0 * edf
    full = n * (float(np.log(rss / n)) + 1.0 + float(np.log(2.0 * np.pi)))
    if fit.weights is not None:
        full -= float(np.log(fit.weights).sum())
    room = fit.n_samples - edf - 2
    return FitFigures(
        r2,
        r2_adj,
        uncentred[0],
        uncentred[1],
        f_value,
        (slopes, df),
        _f_p(f_value, slopes, df),
        uncentred[2],
        uncentred[3],
        fit.sigma,
        fit.rss,
        aic,
        aic + 2.0 * (edf + 1) * (edf + 2) / room if room > 0 else float("inf"),
        aic + (float(np.log(fit.n_samples)) - 2.0) * edf,
        full + 2.0 * (rank + 1),
        full + float(np.log(n)) * (rank + 1),
        _unweighted(fit),
    )


def _adjusted(r2: float, df_total: int, df_resid: int) -> float:
    return 1.0 - (1.0 - r2) * df_total / df_resid if df_resid > 0 else float("nan")


def _share(rss: float, total: float) -> float:
    return 1.0 - rss / total if total > 0 else 0.0


def _f_value(explained: float, df: int, rss: float, df_resid: int) -> float:
    if df < 1 or df_resid < 1:
        return float("nan")
    return (explained / df) / (rss / df_resid) if rss > 0 else float("inf")


def _f_p(f_value: float, df: int, df_resid: int) -> float:
    return float(fdtrc(df, df_resid, f_value)) if np.isfinite(f_value) and df_resid > 0 else float("nan")


def _unweighted(fit: LinearFit) -> float | None:
    if fit.weights is None or fit.df_resid < 1:
        return None
    total = float(np.square(fit.y - fit.y.mean()).sum())
    rss = float(fit.residuals @ fit.residuals)
    constant = int(fit.intercept)
    return 1.0 - (rss / fit.df_resid) / (total / (len(fit.y) - constant)) if total > 0 else 0.0
