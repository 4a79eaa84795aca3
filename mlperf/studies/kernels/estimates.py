"""What a learner makes of a feature set: figures of left-out rows beside those of the fit, and the ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.models.inference.report import FitReport
from mlperf.models.validation.folds import Fold
from mlperf.models.validation.scores import relative_errors
from mlperf.studies.kernels.ceilings import distinct_rows, equal_feature_ceiling, r2_of, rank_of
from mlperf.studies.kernels.learners import StudyLearner
from mlperf.studies.kernels.left_out import LeftOutRows, leave_out

NAN = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class EstimateScore(Shown):
    """One feature set with one learner; errors are fractions, NaN where a learner has no such figure.

    Attributes
    ----------
    features, learner : str
        What the model sees, and what it is.
    n_rows, n_columns, n_distinct : int
        Rows, columns of the set, rows that differ in them.
    n_terms : int
        Terms that the selection kept on all rows (linear models).
    r2_adj : float
        Adjusted R² of the rows it was fitted on (linear models): in sample.
    cv_r2, mape, median, q3, max, rank : float
        Of left-out rows: R² and rank correlation of the times; mean, median, third quartile and largest relative error.
    feature_ceiling : float
        R² that any model of these columns could reach at best.
    nonpositive : float
        Share of left-out predictions <= 0.
    in_domain : float
        Share of left-out rows inside the domain of their training rows.
    coverage, half_width : float
        Share of left-out rows inside their 95 % interval, and its median half-width over the prediction.
    f_p_value, largest_p_value : float
        Of the F test, and of the weakest term's t test, on all rows (linear models).
    condition_number, largest_vif : float
        Of the kept columns on all rows (linear models).
    fit_s : float
        CPU seconds of all fits.
    """

    features: str
    learner: str
    n_rows: int
    n_columns: int
    n_distinct: int
    n_terms: int
    r2_adj: float
    cv_r2: float
    mape: float
    median: float
    q3: float
    max: float
    rank: float
    feature_ceiling: float
    nonpositive: float
    in_domain: float
    coverage: float
    half_width: float
    f_p_value: float
    largest_p_value: float
    condition_number: float
    largest_vif: float
    fit_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(Shown):
    """A score and the left-out answers behind it."""

    score: EstimateScore
    answers: LeftOutRows


def estimate(
    features: str,
    X: pd.DataFrame,
    y: FloatArray,
    groups: Any,
    folds: Sequence[Fold],
    learner: StudyLearner,
    *,
    seed: int = 0,
    intervals: bool = False,
) -> Estimate:
    """Score one learner on one feature set.

    Parameters
    ----------
    features : str
        Name of the set.
    X : DataFrame, shape (n_rows, n_columns)
    y : array, shape (n_rows,)
        Times, > 0.
    groups : array-like, shape (n_rows,)
        What stays in one fold.
    folds : sequence of Fold
    learner : StudyLearner
    seed : int
    intervals : bool
        Whether to fit intervals inside each fold, which takes several times as long.
    """
    answers = leave_out(lambda: learner.make(5 if intervals else 0, seed, X.shape), X, y, groups, folds, intervals=intervals)
    here = answers.tested
    predicted, measured = answers.predicted[here], y[here]
    errors = relative_errors(predicted, measured)
    fitted = in_sample(learner.make(0, seed, X.shape).fit(X, y).report_) if learner.is_linear else {}
    covered = (answers.lower[here] <= measured) & (measured <= answers.upper[here])
    width = (answers.upper[here] - answers.lower[here]) / (2.0 * np.abs(predicted))
    known = bool(np.isfinite(answers.lower[here]).any())
    score = EstimateScore(
        features=features,
        learner=learner.name,
        n_rows=len(y),
        n_columns=X.shape[1],
        n_distinct=distinct_rows(X),
        n_terms=int(fitted.get("n_terms", 0)),
        r2_adj=fitted.get("r2_adj", NAN),
        cv_r2=r2_of(predicted, measured),
        mape=errors.mape,
        median=errors.median,
        q3=errors.q3,
        max=errors.max,
        rank=rank_of(predicted, measured),
        feature_ceiling=equal_feature_ceiling(X, y),
        nonpositive=errors.nonpositive,
        in_domain=float(answers.in_domain[here].mean()),
        coverage=float(covered.mean()) if known else NAN,
        half_width=float(np.nanmedian(width)) if known else NAN,
        f_p_value=fitted.get("f_p_value", NAN),
        largest_p_value=fitted.get("largest_p_value", NAN),
        condition_number=fitted.get("condition_number", NAN),
        largest_vif=fitted.get("largest_vif", NAN),
        fit_s=answers.fit_s,
    )
    return Estimate(score, answers)


def in_sample(report: FitReport) -> dict[str, float]:
    """What is usually printed of a linear model: figures of the rows it was fitted on."""
    terms = report.coefficients.drop(index="(Intercept)", errors="ignore")
    return {
        "n_terms": float(len(terms)),
        "r2_adj": float(report.r2_adj),
        "f_p_value": float(report.f_p_value),
        "largest_p_value": float(terms["p_value"].max()) if len(terms) else NAN,
        "condition_number": float(report.condition_number),
        "largest_vif": float(terms["vif"].max()) if len(terms) else NAN,
    }


def score_frame(scores: Sequence[EstimateScore]) -> pd.DataFrame:
    """One line a feature set and learner."""
    rows = [{name: getattr(one, name) for name in EstimateScore.__slots__} for one in scores]
    return pd.DataFrame(rows, columns=list(EstimateScore.__slots__))
