"""Which form the data choose: errors on rows left out, and on counts left out, with the one-standard-error rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.validation.folds import Fold, grouped_folds
from mlperf.training.collectives.exchange_forms import ExchangeForm
from mlperf.training.collectives.form_fit import Columns, fit_exchange_form, with_terms

CHOSEN, KEPT, REJECTED, ABSENT = "chosen", "kept", "rejected", "not told apart"
FEW_ROWS, N_FOLDS = 40, 10
LEAST_COUNTS = 3
WORST = 1.0
"""Relative error of a form that says nothing, or nothing above zero."""


@dataclass(frozen=True, slots=True, eq=False)
class FormScore(Shown):
    """How one form did on what was left out; errors are fractions, NaN where it cannot be fitted.

    Attributes
    ----------
    name, meaning : str
    n_coef : int
        Coefficients of the fit to all rows; 0 where there is none.
    physical : bool
        Whether it may speak of counts that were not measured.
    error, worst : float
        Mean and largest relative error of left-out rows.
    error_of_counts : float
        Mean relative error of the rows of left-out counts; NaN below three counts, and for forms that say nothing there.
    verdict : str
        ``chosen``; ``kept`` (within one standard error of the best, but richer than the chosen); ``rejected``; or ``not told
        apart`` where the rows cannot carry it.
    """

    name: str
    meaning: str
    n_coef: int
    physical: bool
    error: float
    worst: float
    error_of_counts: float
    verdict: str

    @classmethod
    def from_dict(cls, value: object, path: str) -> FormScore:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            figures = {name: fields.number(name, finite=False) for name in ("error", "worst", "error_of_counts")}
            return cls(
                name=fields.text("name"),
                meaning=fields.text("meaning"),
                n_coef=fields.integer("n_coef"),
                physical=fields.boolean("physical"),
                verdict=fields.text("verdict"),
                **figures,
            )


def row_folds(n_rows: int, seed: int = 0) -> list[Fold]:
    """Each of few rows by itself, ten folds of more than 40."""
    return grouped_folds(np.arange(n_rows), n_rows if n_rows <= FEW_ROWS else N_FOLDS, seed)


def count_folds(columns: Columns) -> list[Fold]:
    """Every count of participants left out; none where there are fewer than three."""
    counts = np.unique(columns["N"])
    rows = np.arange(len(columns["N"]))
    if len(counts) < LEAST_COUNTS:
        return []
    return [Fold(f"N = {count:g}", rows[columns["N"] != count], rows[columns["N"] == count]) for count in counts]


def left_out_log_ratios(form: ExchangeForm, columns: Columns, time_s: FloatArray, folds: Sequence[Fold]) -> FloatArray:
    """log(measured / predicted) of every row when it was left out, shape (n_rows,).

    Infinite where the form says nothing above zero, NaN everywhere where some training part cannot carry it.
    """
    ratio, columns = np.full(len(time_s), np.nan), with_terms(form, columns)
    for fold in folds:
        fitted = fit_exchange_form(form, rows_of(columns, fold.train), time_s[fold.train])
        if fitted is None:
            return np.full(len(time_s), np.nan)
        predicted = fitted.predict(rows_of(columns, fold.test))
        known = predicted > 0.0
        ratio[fold.test] = np.where(known, np.log(time_s[fold.test] / np.where(known, predicted, 1.0)), np.inf)
    return ratio


def rows_of(columns: Columns, rows: IntArray) -> dict[str, FloatArray]:
    """Some rows of all columns."""
    return {name: values[rows] for name, values in columns.items()}


def row_errors(log_ratios: FloatArray) -> FloatArray:
    """|predicted - measured| / measured from log(measured / predicted); nothing said counts as nothing predicted."""
    return np.asarray(np.where(np.isinf(log_ratios), WORST, np.abs(np.exp(-log_ratios) - 1.0)))


def choose(errors: Sequence[FloatArray], n_coef: Sequence[int], allowed: Sequence[bool]) -> tuple[int, list[int]]:
    """The simplest form within one standard error of the best.

    Parameters
    ----------
    errors : sequence of array, shape (n_rows,)
        Relative errors of left-out rows by form; NaN where a form cannot be fitted.
    n_coef : sequence of int
        What is simple.
    allowed : sequence of bool
        Forms that may win.

    Returns
    -------
    (int, list of int)
        The chosen form, and all within one standard error of the best; -1 and none where nothing may win. The standard error is
        that of the mean difference to the best, row by row: forms err on the same rows.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, section 3.4.3.
    """
    usable = [each for each, one in enumerate(errors) if allowed[each] and np.isfinite(one).all()]
    if not usable:
        return -1, []
    best = min(usable, key=lambda each: float(errors[each].mean()))
    near = [each for each in usable if _near(errors[each] - errors[best])]
    return min(near, key=lambda each: (n_coef[each], float(errors[each].mean()))), near


def _near(difference: FloatArray) -> bool:
    spread = float(difference.std(ddof=1)) if len(difference) > 1 else 0.0
    return bool(difference.mean() <= spread / np.sqrt(len(difference)))


def verdict(errors: FloatArray, *, chosen: bool, near: bool) -> str:
    """What becomes of a form in one word."""
    if chosen:
        return CHOSEN
    if not np.isfinite(errors).all():
        return ABSENT
    return KEPT if near else REJECTED
