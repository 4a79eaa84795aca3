"""What a learner makes of a feature set: figures of left-out rows beside those of the fit, and the ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.models.inference.report import FitReport
from mlperf.models.validation.folds import Fold
from mlperf.models.validation.left_out import LeftOutRows, left_out
from mlperf.models.validation.scores import coverage, half_width, r2, rank_correlation
from mlperf.studies.kernels.ceilings import distinct_rows, equal_feature_ceiling
from mlperf.studies.kernels.learners import StudyLearner

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
    make = partial(learner.make, 5 if intervals else 0, seed, X.shape)
    # That a feature set cannot tell programs apart is what the study shows: equal rows of several programs are no leak.
    answers = left_out(make, X, y, groups, folds, intervals=intervals, equal_rows=True)
    here, errors = answers.tested, answers.errors
    predicted, measured, lower, upper = (each[here] for each in (answers.predicted, y, answers.lower, answers.upper))
    fitted = in_sample(learner.make(0, seed, X.shape).fit(X, y)) if learner.is_linear else {}
    score = EstimateScore(
        features=features,
        learner=learner.name,
        n_rows=len(y),
        n_columns=X.shape[1],
        n_distinct=distinct_rows(X),
        n_terms=int(fitted.get("n_terms", 0)),
        r2_adj=fitted.get("r2_adj", NAN),
        cv_r2=r2(predicted, measured),
        mape=errors.mape,
        median=errors.median,
        q3=errors.q3,
        max=errors.max,
        rank=rank_correlation(predicted, measured),
        feature_ceiling=equal_feature_ceiling(X, y),
        nonpositive=errors.nonpositive,
        in_domain=float(answers.in_domain[here].mean()),
        coverage=coverage(lower, upper, measured),
        half_width=half_width(lower, upper, np.abs(predicted)),
        f_p_value=fitted.get("f_p_value", NAN),
        largest_p_value=fitted.get("largest_p_value", NAN),
        condition_number=fitted.get("condition_number", NAN),
        largest_vif=fitted.get("largest_vif", NAN),
        fit_s=answers.fit_s,
    )
    return Estimate(score, answers)


def in_sample(model: Any) -> dict[str, float]:
    """What is usually printed of a linear model: figures of the rows it was fitted on."""
    report: FitReport = model.report_
    terms = report.coefficients.drop(index="(Intercept)", errors="ignore")
    return {
        "n_terms": float(len(terms)),
        "r2_adj": float(report.r2_adj),
        "f_p_value": float(report.f_p_value),
        "largest_p_value": float(terms["p_value"].max()) if len(terms) else NAN,
        "condition_number": float(report.condition_number),
        "largest_vif": float(terms["vif"].max()) if len(terms) else NAN,
    }
