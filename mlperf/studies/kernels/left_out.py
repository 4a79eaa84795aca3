"""Predictions of rows that the model had not seen, in the order of the rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.core.shown import Shown
from mlperf.models.validation.folds import Fold

LEVEL = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutRows(Shown):
    """Answers on left-out rows; every array has shape (n_rows,), NaN in rows that no fold tests.

    Attributes
    ----------
    predicted, lower, upper : float array
        Prediction and 95 % interval of a run; the interval is NaN where the learner has none.
    in_domain : bool array
        Inside the domain of the fold's training rows.
    tested : bool array
        Rows that some fold leaves out.
    fit_s : float
        CPU seconds of all fits.
    """

    predicted: FloatArray
    lower: FloatArray
    upper: FloatArray
    in_domain: BoolArray
    tested: BoolArray
    fit_s: float


def leave_out(
    make: Callable[[], Any], X: pd.DataFrame, y: FloatArray, groups: Any, folds: Sequence[Fold], *, intervals: bool = False
) -> LeftOutRows:
    """Fit a fresh estimator in each fold and ask it for the rows left out.

    Rows with equal features may lie on both sides: that a feature set cannot tell programs apart is what a study shows.

    Parameters
    ----------
    make : callable
        Returns an unfitted estimator; whatever it selects, it selects inside the fold.
    X : DataFrame, shape (n_rows, n_columns)
    y : array, shape (n_rows,)
        Positive.
    groups : array-like, shape (n_rows,)
        What stays together.
    folds : sequence of Fold
    intervals : bool
        Whether to ask for intervals of runs.

    Raises
    ------
    DataError
        A group is on both sides of a fold.
    """
    labels = np.asarray(groups)
    predicted, lower, upper = (np.full(len(y), np.nan) for _ in range(3))
    inside, tested = np.zeros(len(y), dtype=bool), np.zeros(len(y), dtype=bool)
    started = time.process_time()
    for fold in folds:
        check_groups(fold, labels)
        model = make()
        keys = {"groups": labels[fold.train]} if getattr(model, "uses_groups", False) else {}
        model.fit(X.iloc[fold.train], y[fold.train], **keys)
        rows = X.iloc[fold.test]
        predicted[fold.test], tested[fold.test] = model.predict(rows), True
        inside[fold.test] = model.in_domain(rows) if hasattr(model, "in_domain") else False
        if intervals:
            lower[fold.test], upper[fold.test] = run_bounds(model, rows)
    return LeftOutRows(predicted, lower, upper, inside, tested, time.process_time() - started)


def check_groups(fold: Fold, groups: Any) -> None:
    """Refuse a fold that has a group on both sides."""
    both = set(groups[fold.train].tolist()) & set(groups[fold.test].tolist())
    if both:
        raise DataError(
            f"got group {min(both, key=str)!r} in training and test rows", place=fold.name, hint="Split by whole groups."
        )


def run_bounds(model: Any, rows: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of a run; NaN where the model has none."""
    try:
        interval = model.predict_interval(rows, kind="run", level=LEVEL)
    except (AttributeError, FitError):
        nothing = np.full(len(rows), np.nan)
        return nothing, nothing
    return np.asarray(interval.lower, float), np.asarray(interval.upper, float)
