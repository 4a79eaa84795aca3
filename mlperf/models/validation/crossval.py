"""Out-of-sample error: everything a model does to choose itself happens inside each fold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.core.shown import Shown
from mlperf.models.validation.folds import (
    Fold,
    check_folds,
    configuration_groups,
    grouped_folds,
    leave_largest_out,
    leave_one_group_out,
    leave_one_out_groups,
    take_rows,
)
from mlperf.models.validation.scores import ErrorSummary, NoiseFloor, noise_floor, regret, relative_errors

__all__ = [
    "CrossValidation",
    "ErrorSummary",
    "Fold",
    "NoiseFloor",
    "check_folds",
    "configuration_groups",
    "cross_validate",
    "grouped_folds",
    "leave_largest_out",
    "leave_one_group_out",
    "leave_one_out_groups",
    "noise_floor",
    "regret",
    "relative_errors",
    "take_rows",
]


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation(Shown):
    """Predictions of rows that the model had not seen.

    ``predicted`` and ``measured`` have shape (n_rows,), in the unit of y, NaN where no fold tested the row; ``fold`` is the fold's
    number (-1: none); ``fold_names`` what each left out; ``errors`` over all tested rows; ``fit_s`` CPU seconds of all fits.
    """

    predicted: FloatArray
    measured: FloatArray
    fold: IntArray
    fold_names: tuple[str, ...]
    errors: ErrorSummary
    fit_s: float

    def by_fold(self) -> pd.DataFrame:
        """One row of errors per fold."""
        rows = [(name, self.fold == number) for number, name in enumerate(self.fold_names)]
        return pd.DataFrame(
            [
                {"left_out": name, **relative_errors(self.predicted[tested], self.measured[tested]).to_dict()}
                for name, tested in rows
            ]
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per tested row: fold, measured, predicted."""
        tested = self.fold >= 0
        return pd.DataFrame({"fold": self.fold[tested], "measured": self.measured[tested], "predicted": self.predicted[tested]})


def cross_validate(
    estimator_factory: Callable[[], Any],
    frame: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    folds: Sequence[Fold] | None = None,
    n_folds: int = 5,
    seed: int = 0,
) -> CrossValidation:
    """Fit a fresh estimator per fold and predict what was left out.

    Whatever the estimator does in ``fit`` (selection, choice of k, scaling) therefore happens inside each fold.

    Parameters
    ----------
    estimator_factory : callable
        Returns an unfitted estimator; a prototype with ``get_params`` can be given as ``lambda: clone(prototype)``.
    frame : DataFrame or array, shape (n_rows, n_columns)
        Features.
    y : array-like, shape (n_rows,)
        Positive measurements.
    groups : array-like, shape (n_rows,), optional
        Stay together; without them, identical rows of features do.
    folds : sequence of Fold, optional
        Splits to use instead of ``n_folds`` grouped folds.
    n_folds, seed : int
        As in `grouped_folds`.

    Raises
    ------
    DataError
        A split leaks.
    FitError
        Fewer than two groups, or the estimator's own, with the fold named.
    """
    measured = np.asarray(y, dtype=float)
    keys = configuration_groups(frame) if groups is None else groups
    splits = list(folds) if folds is not None else grouped_folds(keys, n_folds, seed)
    check_folds(splits, frame, groups)
    predicted, number_of = np.full(len(measured), np.nan), np.full(len(measured), -1, dtype=np.int64)
    started = time.process_time()
    for number, (fold, answer) in enumerate(_fold_predictions(estimator_factory, frame, measured, keys, splits)):
        predicted[fold.test], number_of[fold.test] = answer, number
    spent = time.process_time() - started
    tested = number_of >= 0
    errors = relative_errors(predicted[tested], measured[tested])
    return CrossValidation(predicted, measured, number_of, tuple(fold.name for fold in splits), errors, spent)


def _fold_predictions(
    factory: Callable[[], Any], frame: Any, y: FloatArray, groups: ArrayLike, folds: Sequence[Fold]
) -> Iterator[tuple[Fold, FloatArray]]:
    for fold in folds:
        estimator = factory()
        inner = {"groups": np.asarray(groups)[fold.train]} if getattr(estimator, "uses_groups", False) else {}
        try:
            estimator.fit(take_rows(frame, fold.train), y[fold.train], **inner)
        except FitError as error:
            raise FitError(error.message, place=f"left out: {fold.name}", hint=error.hint) from error
        yield fold, np.asarray(estimator.predict(take_rows(frame, fold.test)), dtype=float)
