"""Left-out error of one estimator, and how much of what was left out lay outside the domain of the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.validation.crossval import ErrorSummary, grouped_folds, relative_errors

MOST_FOLDS = 10
LEAST_GROUPS = 3


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutError(Shown):
    """Errors of left-out groups, everything chosen inside each fold.

    ``errors`` as fractions; ``outside_share`` is the share of left-out rows that lay outside the domain of their fold's training
    rows.
    """

    errors: ErrorSummary
    outside_share: float


def left_out_error(
    make: Callable[[], Any],
    columns: pd.DataFrame,
    times: FloatArray,
    groups: ArrayLike,
    *,
    keep_totals: bool,
    n_folds: int = MOST_FOLDS,
    seed: int = 0,
) -> LeftOutError | None:
    """Leave out groups of rows in ``n_folds`` folds, fewer where there are fewer groups.

    Parameters
    ----------
    make : callable
        A fresh estimator.
    columns : DataFrame, shape (n_rows, ...)
    times : array, shape (n_rows,)
        The response, > 0.
    groups : array-like, shape (n_rows,)
        Equal values stay in one fold.
    keep_totals : bool
        Whether each fold's predictions are rescaled to its training total, as the final fit's are.
    n_folds, seed : int
        Of the split.

    Returns
    -------
    LeftOutError or None
        None with fewer than three groups.
    """
    labels = np.asarray(groups).astype(str)
    n_groups = len(np.unique(labels))
    if n_groups < LEAST_GROUPS:
        return None
    predicted, inside = np.empty(len(times)), np.empty(len(times), bool)
    for fold in grouped_folds(labels, min(n_folds, n_groups), seed):
        train, test = columns.iloc[fold.train], columns.iloc[fold.test]
        estimator = make().fit(train, times[fold.train])
        scale = times[fold.train].sum() / estimator.predict(train).sum() if keep_totals else 1.0
        predicted[fold.test] = scale * estimator.predict(test)
        inside[fold.test] = estimator.in_domain(test)
    return LeftOutError(relative_errors(predicted, times), float(1.0 - inside.mean()))


def left_out_from_dict(value: Any, path: str) -> LeftOutError | None:
    """Left-out errors as `mlperf.core.shown.plain` wrote them; null means none were computed."""
    if value is None:
        return None
    with Fields(value, path) as fields:
        with fields.child("errors") as child:
            figures = {
                item.name: child.number(item.name, finite=False) for item in dataclasses.fields(ErrorSummary) if item.name != "n"
            }
            summary = ErrorSummary(n=child.integer("n"), **figures)
        return LeftOutError(summary, fields.number("outside_share", lower=0.0, upper=1.0))
