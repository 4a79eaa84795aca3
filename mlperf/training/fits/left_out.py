"""Left-out error of one estimator, and how much of what was left out lay outside the domain of the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.regressor import Regressor
from mlperf.models.validation.folds import grouped_folds
from mlperf.models.validation.left_out import left_out
from mlperf.models.validation.scores import ErrorSummary, relative_errors

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
    make: Callable[[], Regressor],
    columns: pd.DataFrame,
    times: FloatArray,
    groups: ArrayLike,
    *,
    n_folds: int = MOST_FOLDS,
    seed: int = 0,
    unit: Callable[[FloatArray], FloatArray] = np.asarray,
) -> LeftOutError | None:
    """Leave out groups of rows in ``n_folds`` folds, fewer where there are fewer groups.

    Parameters
    ----------
    make : callable
        A fresh estimator, with ``in_domain``; `TotalKeeping` where the final fit is rescaled to its training total.
    columns : DataFrame, shape (n_rows, ...)
    times : array, shape (n_rows,)
        The response.
    groups : array-like, shape (n_rows,)
        Equal values stay in one fold.
    n_folds, seed : int
        Of the split.
    unit : callable
        Turns responses and predictions into what errors are of, > 0: ``np.exp`` for a fit of logarithms.

    Returns
    -------
    LeftOutError or None
        None with fewer than three groups.
    """
    labels = np.asarray(groups).astype(str)
    n_groups = len(np.unique(labels))
    if n_groups < LEAST_GROUPS:
        return None
    # Groups say what a measurement is; what differs in no column of the model is no repeat for that.
    rows = left_out(make, columns, times, labels, grouped_folds(labels, min(n_folds, n_groups), seed), equal_rows=True)
    return LeftOutError(relative_errors(unit(rows.predicted), unit(rows.measured)), float(1.0 - rows.in_domain.mean()))


def left_out_from_dict(value: Any, path: str) -> LeftOutError | None:
    """Left-out errors as `mlperf.core.shown.plain` wrote them; null means none were computed."""
    if value is None:
        return None
    with Fields(value, path) as fields:
        errors = ErrorSummary.from_fields(fields.child("errors"))
        return LeftOutError(errors, fields.number("outside_share", lower=0.0, upper=1.0))
