"""Blocks of the report that repeat the selection: post-selection tests, stability, cross-validation; made when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import FitError, UsageError
from mlperf.models.algebra.aliasing import factor_columns
from mlperf.models.inference.nested import NestedError, nested_error
from mlperf.models.inference.selective import selective_inference
from mlperf.models.inference.stability import SelectionProblem, selection_stability
from mlperf.models.selection.search import Selection
from mlperf.models.uncertainty.residual_quantiles import USUAL_LEVEL, has_ranks

EXTRAS = ("selective", "stability", "nested_cv")
N_RESAMPLES = 1000
# What "auto" may spend on one block, in multiply-adds: about a second.
MAX_COLUMNS = 150
MAX_WORK = 2e9
# With fewer rows a column, a selected model's Student intervals are too short (90 % or less for 95 %).
ROWS_A_COLUMN = 10


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """What the repeated selections need.

    Parameters
    ----------
    problem : SelectionProblem
        The rows and columns of the search.
    selection : Selection
    reported : tuple of int
        Term ids of the final model.
    groups : list of array of int
        Columns of each term of the problem's triangle.
    kept : array of int, shape (rank,)
        Column of that triangle of each reported coefficient, -1 where it has none.
    wanted : tuple of str
        Names of blocks that are switched on.
    automatic : bool
        Whether blocks that would cost more than about a second are left out.
    row_groups : array, shape (n_samples,), or None
        Rows that stay together in folds; default rows with identical columns.
    fixed : bool
        Whether each term has the same columns in every model of the search.
    reasons : dict
        Filled with why a block that is switched on could not be made.
    labels : tuple of str
        Of the terms, by id.
    """

    problem: SelectionProblem
    selection: Selection
    reported: tuple[int, ...]
    groups: list[IntArray]
    kept: IntArray
    wanted: tuple[str, ...]
    automatic: bool = False
    row_groups: Any = None
    fixed: bool = True
    reasons: dict[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    def make(self, name: str) -> Any:
        """Compute one block; None where it is switched off, or cannot be made (``reasons`` says why)."""
        if name not in self.wanted:
            return None
        if not self.fixed:
            self.reasons[name] = "the columns of a factor depend on the other terms of the model"
            return None
        if self.automatic and _work(self.problem, name) > MAX_WORK:
            n_samples, n_features = self.problem.X.shape
            self.reasons[name] = f"left out at {n_samples} rows x {n_features} columns: name it in report= to compute it"
            return None
        try:
            return _MAKERS[name](self)
        except FitError as error:
            self.reasons[name] = error.message
            return None

    def weighted_rows(self) -> BoolArray:
        """Rows of positive weight, shape (n_samples,)."""
        weights = self.problem.weights
        return np.ones(len(self.problem.y), dtype=np.bool_) if weights is None else np.asarray(weights > 0.0)

    def other_choices(self) -> dict[str, tuple[str, ...]]:
        """Terms that the same search by AICc and by BIC keeps, where each applies.

        AICc below 40 rows a parameter (Hurvich and Tsai 1989), BIC always; empty for searches by other criteria than these and AIC.
        """
        criterion, found = self.problem.criterion, {}
        if criterion is None or criterion.name not in ("aic", "aicc", "bic") or criterion.scale > 0 or not self.fixed:
            return {}
        made = self.problem.triangle()
        penalties = {"aic": 2.0, "aicc": 2.0, "bic": float(np.log(made.n_samples))}
        few_rows = made.n_samples < 40 * made.n_columns
        for name, k in penalties.items():
            if name == criterion.name or (name == "aicc" and not few_rows):
                continue
            problem = replace(self.problem, criterion=replace(criterion, name=name, k=k))
            found[name] = tuple(self.labels[term] for term in problem.select(made))
        return found

    def has_many_rows(self) -> bool:
        """Whether there are ten rows a column or more."""
        return bool(len(self.problem.y) >= ROWS_A_COLUMN * (self.problem.X.shape[1] + int(self.problem.intercept)))

    def has_exact_intervals(self) -> bool:
        """Whether rows are few and independent and leave the model with all terms a variance: Student's t then holds."""
        triangle = self.problem.triangle()
        if self.row_groups is not None or has_ranks(triangle.n_weighted, USUAL_LEVEL):
            return False
        return len(factor_columns(triangle, np.arange(triangle.n_columns), self.problem.tol).columns) < triangle.n_weighted

    def kept_terms(self) -> IntArray:
        """Term id of each reported coefficient, shape (rank,); -1 for the constant."""
        term = np.full(self.problem.X.shape[1] + int(self.problem.intercept), -1, dtype=np.int64)
        for number, columns in enumerate(self.groups):
            term[columns] = number
        return np.where(self.kept >= 0, term[self.kept], -1)

    def check_repeatable(self) -> None:
        """Raise FitError where repeating the search on the same rows does not lead to the same model."""
        again = self.problem.select(self.problem.triangle())
        if set(again) != set(self.reported):
            raise FitError("the columns of a term depend on the other terms of the model")


def wanted_extras(report: Any) -> tuple[str, ...]:
    """Which blocks ``report=`` asks for: ``auto`` all, ``none`` none, or a list of names.

    Raises
    ------
    UsageError
        An unknown name.
    """
    if report == "auto":
        return EXTRAS
    if report == "none":
        return ()
    names = (report,) if isinstance(report, str) else tuple(report)
    unknown = [name for name in names if name not in (*EXTRAS, "diagnostics")]
    if unknown:
        raise UsageError(f"got report={unknown[0]!r}, expected 'auto', 'none' or some of diagnostics, {', '.join(EXTRAS)}")
    return tuple(name for name in names if name in EXTRAS)


def left_out_residuals(extras: Extras, nested: NestedError | None, noise: str) -> FloatArray | None:
    """Residuals of left-out rows, for prediction intervals that assume no distribution.

    Parameters
    ----------
    extras : Extras
    nested : NestedError or None
        The cross-validation of the same rows.
    noise : {"absolute", "relative"}
        y - prediction, or y / prediction - 1 (infinite where the prediction is not positive).

    Returns
    -------
    array, shape (n_weighted,), or None
        Of the rows of positive weight; None without cross-validation, and for absolute noise with ten rows a column or more, where
        Student's t with the full model's sigma holds.
    """
    if nested is None or nested.models is None or (noise == "absolute" and extras.has_many_rows()):
        return None
    y, predicted = extras.problem.y, nested.models.predicted
    used = extras.weighted_rows()
    y, predicted = y[used], predicted[used]
    if noise == "absolute":
        return np.asarray(y - predicted)
    ratio = np.full(len(y), np.inf)
    np.divide(y, predicted, out=ratio, where=predicted > 0.0)
    return ratio - 1.0 if np.isfinite(ratio).any() else None


def _work(problem: SelectionProblem, name: str) -> float:
    n_samples, n_features = problem.X.shape
    product = n_samples * (n_features + 1.0) ** 2 / 2.0
    repeats = {"selective": 1.0, "stability": float(N_RESAMPLES), "nested_cv": 4.0}
    return np.inf if n_features > MAX_COLUMNS else product * repeats[name]


def _selective(extras: Extras) -> Any:
    problem = extras.problem
    found = selective_inference(problem.triangle(), extras.selection, extras.groups, tol=problem.tol)
    if found.reason is not None:
        extras.reasons["selective"] = found.reason
    return found


def _stability(extras: Extras) -> Any:
    extras.check_repeatable()
    return selection_stability(extras.problem, extras.reported, N_RESAMPLES)


def _nested(extras: Extras) -> Any:
    extras.check_repeatable()
    return nested_error(extras.problem, extras.reported, extras.row_groups)


_MAKERS: dict[str, Callable[[Extras], Any]] = {"selective": _selective, "stability": _stability, "nested_cv": _nested}
