"""What a selection does to inference: selective tests, stability and nested error of one stepwise fit, each on or off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError, UsageError
from mlperf.core.shown import Shown
from mlperf.models.aliasing import factor_columns
from mlperf.models.nested import NestedError, nested_error
from mlperf.models.problem import Problem
from mlperf.models.residual_quantiles import ResidualQuantiles
from mlperf.models.search import Selection
from mlperf.models.selective import SelectiveInference, selective_inference
from mlperf.models.stability import SelectionProblem, Stability, selection_stability
from mlperf.models.terms import codings
from mlperf.models.triangle import Triangle

PARTS = ("selective", "stability", "nested_cv")
# What "auto" may spend, in multiply-adds: together about a second.
MAX_COLUMNS = 150
MAX_STABILITY_WORK = 2e9
MAX_NESTED_WORK = 2e9
# With fewer rows a column, intervals come from left-out residuals even for absolute noise.
ROWS_A_COLUMN = 10


@dataclass(frozen=True, slots=True, eq=False)
class FixedColumns:
    """A search over terms whose columns do not depend on the other terms of the model.

    Attributes
    ----------
    problem : SelectionProblem
        Columns of all terms; term ids as in the search.
    triangle : Triangle
        Of all of them.
    groups : list of array of int
        Columns of each term id.
    """

    problem: SelectionProblem
    triangle: Triangle
    groups: list[IntArray]


@dataclass(frozen=True, slots=True, eq=False)
class AfterSelection(Shown):
    """The three parts; a missing one has its reason.

    Attributes
    ----------
    selective : SelectiveInference or None
    stability : Stability or None
    nested : NestedError or None
    sigma_full, df_full : float
        Residual standard deviation and degrees of freedom of the model with all columns; NaN and 0 where it leaves none.
    reasons : mapping of str to str
        Part to why it is missing, for parts that were asked for.
    """

    selective: SelectiveInference | None
    stability: Stability | None
    nested: NestedError | None
    sigma_full: float
    df_full: float
    reasons: Mapping[str, str]

    def residuals(self, y: FloatArray, noise: str) -> ResidualQuantiles | None:
        """Left-out residuals for prediction intervals; None where nested cross-validation was off.

        Parameters
        ----------
        y : array, shape (n_samples,)
            The response of the fit, in the order of its rows.
        noise : {"absolute", "relative", "log"}
            y - prediction, y / prediction - 1 (infinite for predictions that are not positive), or as absolute on log y.
        """
        if self.nested is None:
            return None
        predicted = self.nested.models.predicted
        if noise != "relative":
            return ResidualQuantiles.of(y - predicted)
        ratio = np.full(len(y), np.inf)
        np.divide(y, predicted, out=ratio, where=predicted > 0.0)
        return ResidualQuantiles.of(ratio - 1.0) if np.isfinite(ratio).any() else None


def chosen_parts(report: str | Sequence[str]) -> tuple[str, ...]:
    """Parts that the ``report`` parameter of an estimator asks for; ``auto`` stands for all of them, cost permitting.

    Raises
    ------
    UsageError
        Neither ``auto``, ``none`` nor a list of known parts.
    """
    if isinstance(report, str):
        if report not in ("auto", "none"):
            raise UsageError(f"got report={report!r}, expected 'auto', 'none' or a list of {', '.join(('diagnostics', *PARTS))}")
        return PARTS if report == "auto" else ()
    unknown = [part for part in report if part not in ("diagnostics", *PARTS)]
    if unknown:
        raise UsageError(f"got report part {unknown[0]!r}, expected {', '.join(('diagnostics', *PARTS))}")
    return tuple(part for part in PARTS if part in report)


def fixed_columns(problem: Problem, selection: Selection, tol: float) -> FixedColumns | str:
    """The search as groups of fixed columns, or the reason why it is none."""
    terms = problem.terms
    workspace = problem.workspace
    if not terms:
        return "the model has no terms"
    if not np.array_equal(workspace.complete(terms), problem.mask):
        return "rows with missing values differ between the candidate models"
    whole = dict(zip([term.key for term in terms], _codings(problem, range(len(terms))), strict=True))
    for model in {table.model for table in selection.tables} | {selection.refits[-1].model}:
        for term, coding in zip(model, _codings(problem, model), strict=True):
            if whole[terms[term].key] != coding:
                return "columns of a factor depend on the other terms of the model"
    ordered = sorted(range(len(terms)), key=lambda term: terms[term].order)
    factor, placed = workspace.place([terms[term] for term in ordered], problem.mask)
    groups = [np.empty(0, dtype=np.int64)] * len(terms)
    for term, columns in zip(ordered, placed, strict=True):
        groups[term] = columns
    rows = workspace._rows[problem.mask.tobytes()]
    X = workspace.matrix(rows)
    assign = np.zeros(X.shape[1] + int(workspace.intercept), dtype=np.int64)
    for term, columns in enumerate(groups):
        assign[columns] = term + 1
    if (assign[int(workspace.intercept) :] == 0).any():
        return "columns of a factor depend on the other terms of the model"
    start = problem.start
    simple = SelectionProblem(
        X,
        workspace.y[problem.mask],
        assign,
        None if workspace.weights is None else workspace.weights[problem.mask],
        bool(workspace.intercept),
        [term.key for term in terms],
        problem.lower,
        None if problem.direction == "backward" and sorted(start) == list(range(len(terms))) else start,
        selection.criterion,
        problem.direction,
        tol,
    )
    return FixedColumns(simple, factor, groups)


def _codings(problem: Problem, model: Sequence[int] | range) -> list[Any]:
    return codings([problem.terms[term] for term in model], problem.workspace.variables, intercept=problem.workspace.intercept)


def after_selection(
    problem: Problem,
    selection: Selection,
    parts: Sequence[str],
    *,
    automatic: bool = True,
    groups: Any = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    n_folds: int = 10,
    seed: int = 0,
    tol: float = 1e-7,
) -> AfterSelection:
    """Compute the parts that were asked for.

    Parameters
    ----------
    problem : Problem
    selection : Selection
        What the search on it did.
    parts : sequence of {"selective", "stability", "nested_cv"}
    automatic : bool
        Leave out, with the reason, what would cost more than about a second; False where the user named the parts.
    groups : array-like, shape (n_rows,), optional
        Rows that stay together in folds, for the rows of ``problem.mask``.
    level : float
        Of the selective bounds.
    n_resamples, n_folds, seed : int
    tol : float
        Of the rule for aliasing.
    """
    made = fixed_columns(problem, selection, tol)
    if isinstance(made, str):
        return AfterSelection(None, None, None, float("nan"), 0.0, dict.fromkeys(parts, made))
    reported = selection.refits[-1].model
    sigma, df = full_sigma(made.triangle, tol)
    reasons: dict[str, str] = {}
    costly = too_costly(made.problem, n_resamples) if automatic else {}
    makers: dict[str, Callable[[], Any]] = {
        "selective": lambda: selective_inference(made.triangle, selection, made.groups, level=level, tol=tol),
        "stability": lambda: selection_stability(made.problem, reported, n_resamples, seed),
        "nested_cv": lambda: nested_error(made.problem, reported, groups, n_folds, seed),
    }
    found: dict[str, Any] = {}
    for part in parts:
        if part in costly:
            reasons[part] = costly[part]
            continue
        try:
            found[part] = makers[part]()
        except FitError as error:
            reasons[part] = str(error.message)
    selective = found.get("selective")
    if selective is not None and selective.reason is not None:
        reasons["selective"] = selective.reason
    return AfterSelection(selective, found.get("stability"), found.get("nested_cv"), sigma, df, reasons)


def full_sigma(factor: Triangle, tol: float) -> tuple[float, float]:
    """Residual standard deviation (unit of the weighted response) and degrees of freedom of the model with all columns."""
    whole = factor_columns(factor, np.arange(factor.n_columns), tol)
    df = factor.n_weighted - len(whole.columns)
    if df <= 0:
        return float("nan"), 0.0
    return whole.root_rss * float(factor.scale[-1]) / float(np.sqrt(df)), float(df)


def too_costly(problem: SelectionProblem, n_resamples: int) -> dict[str, str]:
    """Parts that ``auto`` leaves out at this size, with the reason."""
    n_samples, n_columns = problem.X.shape[0], problem.X.shape[1] + 1
    reason = f"left out at {n_samples} rows x {n_columns} columns: name it in report= to compute it"
    work = n_samples * n_columns**2 / 2.0
    costly = {
        "selective": n_columns > MAX_COLUMNS,
        "stability": n_columns > MAX_COLUMNS or work * n_resamples > MAX_STABILITY_WORK,
        "nested_cv": n_columns > MAX_COLUMNS or 4.0 * work > MAX_NESTED_WORK,
    }
    return {part: reason for part, is_costly in costly.items() if is_costly}
