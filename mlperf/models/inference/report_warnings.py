"""What the reader of a report must not overlook."""

from __future__ import annotations

import numpy as np

from mlperf.models.inference.diagnostics import variance_inflation
from mlperf.models.inference.figures import FitFigures
from mlperf.models.inference.inference import Inference
from mlperf.models.selection.linear import LinearFit


def relation_warnings(
    fit: LinearFit, figures: FitFigures, inference: Inference, number: float, terms: tuple[str, ...], mape: float | None
) -> list[str]:
    """What the reader must not overlook.

    Parameters
    ----------
    fit, figures, inference
        Of the final model.
    number : float
        Condition number.
    terms : tuple of str
    mape : float or None
        Mean relative error on the fitted rows, where all values are positive.
    """
    found = []
    per_term = variance_inflation(fit)[1]
    high = [f"{terms[term - 1]} {value ** (1.0 / df):.3g}" for term, (value, df) in per_term.items() if value ** (1.0 / df) > 10.0]
    if high:
        found.append(
            f"collinear: variance inflation above 10 for {', '.join(high)}; signs and sizes of these coefficients mean little"
        )
    if mape is not None and mape > 0.3 and figures.r2_adj > 0.9:
        found.append(
            f"adjusted R2 {figures.r2_adj:.3f} beside a mean relative error of {100 * mape:.0f} %: "
            "the fit serves the largest values only"
        )
    below = float((fit.y - fit.residuals <= 0.0).mean()) if mape is not None else 0.0
    if below > 0.0:
        found.append(
            f"negative predictions: {100 * below:.1f} % of the fitted rows are predicted at or below zero, all are measured above"
        )
    limit = max(1e-8, 1e-14 * number)
    if np.isfinite(inference.disagreement) and inference.disagreement > limit:
        found.append(f"statsmodels and the refined solution differ by {inference.disagreement:.1e}; the refined one is shown")
    return found + _sign_warnings(fit)


def _sign_warnings(fit: LinearFit) -> list[str]:
    """Where a model of positive values turns negative: fitted values, and coefficients of columns that never are."""
    y = fit.y if fit.offset is None else fit.y + fit.offset
    if not (y > 0).all():
        return []
    found = []
    n_negative = int((fit.fitted() < 0).sum())
    if n_negative:
        found.append(f"{n_negative} fitted values are negative although every measured one is positive")
    if fit.offset is None and fit.rank:
        lowest, highest = fit.matrix.min(axis=0), fit.matrix.max(axis=0)
        costs = (lowest >= 0) & ~((lowest == 0) & (highest == 1)) & (fit.assign > 0) & (fit.coef < 0)
        if costs.any():
            names = ", ".join(name for name, cost in zip(fit.names, costs, strict=True) if cost)
            found.append(f"negative coefficient of a column that is never negative: {names}")
    return found
