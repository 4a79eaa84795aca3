"""The one loop that leaves rows out: fit without them, ask for them; leaks are refused before anything is fitted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.core.shown import Shown
from mlperf.models.regressor import Regressor, fit_in_groups
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.folds import Fold, check_folds, take_rows
from mlperf.models.validation.scores import ErrorSummary, relative_errors

LEVEL = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutRows(Shown):
    """Answers about rows that the model had not seen; arrays have shape (n_rows,), in the order of the rows.

    Attributes
    ----------
    predicted, measured : float array
        In the unit of y; ``predicted`` is NaN in rows that no fold tests.
    lower, upper : float array
        95 % interval of a run; NaN where the model has none or was not asked.
    in_domain : bool array
        Inside the domain of the fold's training rows; False where the model knows none or was not asked.
    knows_domain : bool
        Whether every fold's model could say so.
    fold : int array
        Number of the fold that tested the row, -1 for none.
    fold_names, choices : tuple of str
        By fold: what was left out, and what the model chose by itself (empty where it chooses nothing).
    fit_s : float
        CPU seconds of all fits.
    """

    predicted: FloatArray
    measured: FloatArray
    lower: FloatArray
    upper: FloatArray
    in_domain: BoolArray
    knows_domain: bool
    fold: IntArray
    fold_names: tuple[str, ...]
    choices: tuple[str, ...]
    fit_s: float

    @property
    def tested(self) -> BoolArray:
        """Rows that some fold left out, shape (n_rows,)."""
        return np.asarray(self.fold >= 0)

    @property
    def errors(self) -> ErrorSummary:
        """Errors over all tested rows; measured values must be positive."""
        return relative_errors(self.predicted[self.tested], self.measured[self.tested])

    def by_fold(self) -> pd.DataFrame:
        """One row of errors per fold."""
        rows = [(name, self.fold == number) for number, name in enumerate(self.fold_names)]
        return pd.DataFrame(
            [{"left_out": name, **relative_errors(self.predicted[own], self.measured[own]).to_dict()} for name, own in rows]
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per tested row: fold, measured, predicted."""
        here = self.tested
        return pd.DataFrame({"fold": self.fold[here], "measured": self.measured[here], "predicted": self.predicted[here]})


def left_out(
    make: Callable[[], Regressor],
    X: Any,
    y: ArrayLike,
    groups: ArrayLike | None,
    folds: Sequence[Fold],
    *,
    intervals: bool = False,
    domain: bool = True,
    equal_rows: bool = False,
) -> LeftOutRows:
    """Fit a fresh estimator in each fold and ask it for the rows left out.

    Whatever the estimator does in ``fit`` (selection, choice of k, scaling) therefore happens inside each fold.

    Parameters
    ----------
    make : callable
        Returns an unfitted estimator; a prototype with ``get_params`` can be given as ``lambda: clone(prototype)``.
    X : DataFrame or array, shape (n_rows, n_columns)
        Features.
    y : array-like, shape (n_rows,)
        Measurements.
    groups : array-like, shape (n_rows,), or None
        What stays together; None: identical rows of features.
    folds : sequence of Fold
        No row is tested twice.
    intervals : bool
        Whether to ask for 95 % intervals of runs.
    domain : bool
        Whether to ask which rows lie inside the measured domain.
    equal_rows : bool
        Whether equal rows of features may lie on both sides where their groups differ: a study of what features cannot tell apart.

    Raises
    ------
    DataError
        A fold leaks: a group, or an equal row of features, on both sides.
    FitError
        The estimator's own, with the fold named.
    """
    check_folds(folds, X, groups, equal_rows=equal_rows)
    measured = np.asarray(y, dtype=float)
    spent, choices, knows = 0.0, [], True

    def answers(fold: Fold) -> FloatArray:
        nonlocal spent, knows
        started = time.process_time()
        keys = None if groups is None else np.asarray(groups)[fold.train]
        model = fit_in_groups(make(), take_rows(X, fold.train), measured[fold.train], keys)
        spent += time.process_time() - started
        rows = take_rows(X, fold.test)
        knows = knows and hasattr(model, "in_domain")
        choices.append(choice_of(model))
        predicted, inside = flagged(model, rows) if domain and knows else (model.predict(rows), np.zeros(len(rows)))
        interval = run_interval(model, rows) if intervals else no_interval(len(rows))
        return np.stack([predicted, interval.lower, interval.upper, inside])

    found = over_folds(folds, (4, len(measured)), answers)
    return LeftOutRows(
        predicted=found[0],
        measured=measured,
        lower=found[1],
        upper=found[2],
        in_domain=np.asarray(found[3] == 1.0),
        knows_domain=domain and knows,
        fold=fold_numbers(folds, len(measured)),
        fold_names=tuple(fold.name for fold in folds),
        choices=tuple(choices),
        fit_s=spent,
    )


def flagged(model: Any, rows: Any) -> tuple[FloatArray, BoolArray]:
    """Prediction of each row, and whether it lies inside the measured domain, shape (n_rows,) each; at once where the model can."""
    if hasattr(model, "predict_flagged"):
        predicted, inside = model.predict_flagged(rows)
        return predicted, inside
    return np.asarray(model.predict(rows), dtype=float), np.asarray(model.in_domain(rows), dtype=bool)


def over_folds(folds: Sequence[Fold], shape: int | tuple[int, ...], answer: Callable[[Fold], Any]) -> FloatArray:
    """Answers about each fold's test rows, in the order of the rows; NaN in rows that no fold tests.

    Parameters
    ----------
    folds : sequence of Fold
    shape : int or tuple of int
        Of the result; the last axis is that of the rows.
    answer : callable
        ``answer(fold)`` is of that shape with the fold's test rows as last axis.

    Raises
    ------
    FitError
        That of ``answer``, with the fold named.
    """
    found = np.full(shape, np.nan)
    for fold in folds:
        try:
            found[..., fold.test] = answer(fold)
        except FitError as error:
            raise FitError(error.message, place=f"left out: {fold.name}", hint=error.hint) from error
    return found


def fold_numbers(folds: Sequence[Fold], n_rows: int) -> IntArray:
    """Number of the fold that tests each row, shape (n_rows,); -1 for none."""
    numbers = np.full(n_rows, -1, dtype=np.int64)
    for number, fold in enumerate(folds):
        numbers[fold.test] = number
    return numbers


def run_interval(model: Any, rows: Any, level: float = LEVEL) -> Interval:
    """Interval of a run of every row, shape (n_rows,); NaN where the fitted model has none."""
    try:
        found = model.predict_interval(rows, kind="run", level=level)
    except (AttributeError, FitError):
        return no_interval(len(rows), level)
    return Interval(np.asarray(found.lower, dtype=float), np.asarray(found.upper, dtype=float), level)


def no_interval(n_rows: int, level: float = LEVEL) -> Interval:
    """NaN for every row."""
    return Interval(np.full(n_rows, np.nan), np.full(n_rows, np.nan), level)


def choice_of(model: Any) -> str:
    """What a fitted model chose by itself, in a word; empty where it chose nothing."""
    if hasattr(model, "choice_"):
        return str(model.choice_)
    return f"k = {model.k_}" if hasattr(model, "k_") else ""
