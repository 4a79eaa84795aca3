"""A table of measured collectives to a model whose form the data chose: `train_exchange`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import FitError
from mlperf.core.provenance import provenance
from mlperf.models.estimators.choice.cost_form import form_matrix
from mlperf.models.validation.scores import adjusted_r2
from mlperf.training.collectives.exchange_forms import FORMS, PAPER_TERMS, ExchangeForm
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.collectives.exchange_rows import exchange_rows, terms_frame
from mlperf.training.collectives.form_choice import (
    FormScore,
    choose,
    count_folds,
    left_out_log_ratios,
    row_errors,
    row_folds,
    verdict,
)
from mlperf.training.collectives.form_fit import Columns, FittedForm, fit_exchange_form

LEAST_ROWS = 3
ASSUMED = "fewer than three counts were measured: how the time grows is assumed, and intervals hold all forms that fit alike"


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """Every candidate on one table: fits to all rows, log ratios of rows and of counts when left out."""

    forms: tuple[ExchangeForm, ...]
    fits: tuple[FittedForm | None, ...]
    by_row: tuple[FloatArray, ...]
    by_count: tuple[FloatArray, ...]

    @property
    def n_coef(self) -> list[int]:
        """Coefficients of each; 0 where there is no fit."""
        return [0 if fit is None else fit.n_coef for fit in self.fits]


def train_exchange(
    table: pd.DataFrame,
    operation: str | None = None,
    *,
    n_gpus_per_node: int | None = None,
    time: str | None = None,
    forms: Sequence[ExchangeForm] = FORMS,
    seed: int = 0,
) -> ExchangeModel:
    """Choose and fit the form of a collective's time.

    Parameters
    ----------
    table : DataFrame
        One row a measurement: ``n_gpus`` (or ``n_ranks``, or ``n_nodes`` with ``n_gpus_per_node``), ``size_bytes`` (or
        ``message_bytes``), ``exchange_s`` (or ``time_s``); ``n_nodes`` where there are several machines, ``operation`` where there
        are several. Repeats are merged to their median.
    operation : str, optional
        Which of several; by default ``all_reduce``.
    n_gpus_per_node : int, optional
        Participants that a machine holds, where the table does not tell machines.
    time : str, optional
        Column of the times, where it has another name.
    forms : sequence of ExchangeForm
        Candidates; the paper's among them.
    seed : int
        Of the folds.

    Returns
    -------
    ExchangeModel
        With one form for counts that were measured, chosen on left-out rows among all candidates, and one for other counts,
        chosen on left-out counts among physical forms. Both times the simplest within one standard error of the best.

    Raises
    ------
    DataError, UsageError
        The table is not as described.
    FitError
        Fewer than three configurations, or one size only: nothing can be told apart.

    References
    ----------
    Oyama et al. (SPRINT), eq. 10's all-reduce, (a log2 N + b) S; Thakur, Rabenseifner and Gropp (2005) for the other algorithms.
    """
    rows = exchange_rows(table, operation, n_gpus_per_node, time)
    frame = rows.frame
    if len(frame) < LEAST_ROWS or frame["S"].nunique() < 2:
        got = f"got {len(frame)} configurations of {frame['S'].nunique()} sizes, expected at least {LEAST_ROWS} of two sizes"
        raise FitError(got, hint="Measure the exchange at more sizes and counts.")
    columns, time_s = terms_frame(frame["N"], frame["M"], frame["S"]), frame["time_s"].to_numpy(np.float64)
    tried = try_forms(tuple(forms), columns, time_s, seed)
    measured, near = choose([row_errors(each) for each in tried.by_row], tried.n_coef, [True] * len(forms))
    other, by_count = choose_other(tried)
    alike = () if by_count else fit_alike(tried)
    fits = tried.fits[measured], tried.fits[other]
    if measured < 0 or other < 0 or fits[0] is None or fits[1] is None:
        raise FitError("got rows that no form can be fitted to", hint="Measure at least three sizes at two counts.")
    r2_adj, r2_uncentred = paper_r2(columns, time_s)
    return ExchangeModel(
        operation=rows.operation,
        measured=fits[0],
        other=fits[1],
        forms=scores(tried, {measured, other}, set(near)),
        log_ratios=tried.by_row[measured],
        log_ratios_of_counts=tried.by_count[other] if by_count else np.zeros(0),
        alike=tuple(fit for place in alike if place != other and (fit := tried.fits[place]) is not None),
        rows=frame,
        gpus_per_node=rows.gpus_per_node,
        noise=rows.noise,
        r2_adj=r2_adj,
        r2_uncentred=r2_uncentred,
        notes=(*rows.notes, *(() if by_count else (ASSUMED,))),
        provenance=provenance(seed=seed),
    )


def try_forms(forms: tuple[ExchangeForm, ...], columns: Columns, time_s: FloatArray, seed: int) -> Tried:
    """Fit every candidate, and leave rows and counts out."""
    by_rows, by_counts = row_folds(len(time_s), seed), count_folds(columns)
    nothing = np.full(len(time_s), np.nan)
    return Tried(
        forms,
        tuple(fit_exchange_form(form, columns, time_s) for form in forms),
        tuple(left_out_log_ratios(form, columns, time_s, by_rows) for form in forms),
        tuple(left_out_log_ratios(form, columns, time_s, by_counts) if by_counts and form.physical else nothing for form in forms),
    )


def choose_other(tried: Tried) -> tuple[int, bool]:
    """The physical form for counts that were not measured, and whether left-out counts chose it (else left-out rows did)."""
    physical = [form.physical for form in tried.forms]
    found, _ = choose([row_errors(each) for each in tried.by_count], tried.n_coef, physical)
    if found >= 0:
        return found, True
    return choose([row_errors(each) for each in tried.by_row], tried.n_coef, physical)[0], False


def fit_alike(tried: Tried) -> list[int]:
    """Physical forms that left-out rows do not tell from the best of them: of few counts, they part where nothing was measured."""
    _, near = choose([row_errors(each) for each in tried.by_row], tried.n_coef, [form.physical for form in tried.forms])
    return near


def scores(tried: Tried, chosen: set[int], near: set[int]) -> tuple[FormScore, ...]:
    """Every candidate with its left-out errors and what became of it."""
    errors = [row_errors(each) for each in tried.by_row]
    return tuple(
        FormScore(
            name=form.name,
            meaning=form.meaning,
            n_coef=tried.n_coef[place],
            physical=form.physical,
            error=float(errors[place].mean()),
            worst=float(errors[place].max()),
            error_of_counts=float(row_errors(tried.by_count[place]).mean()),
            verdict=verdict(errors[place], chosen=place in chosen, near=place in near),
        )
        for place, form in enumerate(tried.forms)
    )


def paper_r2(columns: Columns, time_s: FloatArray) -> tuple[float, float]:
    """Adjusted R² of (a log2 N + b) S by ordinary least squares: about the mean, and about zero as tools print it.

    Without a constant the common definition leaves the mean in and prints more.
    """
    matrix = form_matrix(PAPER_TERMS, columns, len(time_s))
    fitted = matrix @ np.linalg.lstsq(matrix, time_s, rcond=None)[0]
    free = len(time_s) - len(PAPER_TERMS)
    rest = float(((time_s - fitted) ** 2).sum())
    uncentred = 1.0 - (rest / free) / (float((time_s**2).sum()) / len(time_s)) if free > 0 else float("nan")
    return adjusted_r2(fitted, time_s, len(PAPER_TERMS) - 1), uncentred
