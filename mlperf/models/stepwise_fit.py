"""One stepwise fit from resolved data to everything the estimator publishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.models.aliasing import Relation
from mlperf.models.anova import drop_table, sequential_anova
from mlperf.models.criteria import Criterion
from mlperf.models.diagnostics import condition
from mlperf.models.domain import Domain
from mlperf.models.evaluate import Frame, evaluate, raw_column
from mlperf.models.expressions import Expression, Name, lines, names, parse, text
from mlperf.models.final import aliased_relations, final_fit, full_sigma
from mlperf.models.formula import Formula, Term
from mlperf.models.formulaspace import FormulaSpace
from mlperf.models.inference import fit_figures, infer
from mlperf.models.labels import model_labels
from mlperf.models.linear import LinearFit
from mlperf.models.problem import Problem, Scope, make_problem, resolve_direction, scope_terms
from mlperf.models.report import FitIdentity, FitReport, relation_warnings
from mlperf.models.report_extras import Extras, wanted_extras
from mlperf.models.search import Selection, search
from mlperf.models.spaces import perfect_floor
from mlperf.models.spread import Spread
from mlperf.models.stability import SelectionProblem
from mlperf.models.terms import Terms, codings, term_column_names
from mlperf.models.threads import one_blas_thread
from mlperf.models.trace import path_frame, trace_frame, trace_text


@dataclass(frozen=True, slots=True)
class ResolvedScope:
    """Terms of the scope; None where nothing was said."""

    start: tuple[Term, ...] | None
    lower: tuple[Term, ...]
    upper: tuple[Term, ...] | None
    scoped: bool

    def all_terms(self) -> tuple[Term, ...]:
        """Every term named."""
        return (*(self.start or ()), *self.lower, *(self.upper or ()))


@dataclass(frozen=True, slots=True)
class Settings:
    """The estimator's parameters that decide a search."""

    lower: Scope
    upper: Scope
    start: Scope
    direction: str | None
    criterion: str
    k: float | None
    scale: float
    alpha_enter: float
    alpha_remove: float
    noise: str
    max_steps: int
    tol: float
    na: str
    saturated: str
    report: str | Sequence[str]
    ordered: bool

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Parameters of a ``StepwiseOLS``."""
        return cls(**{name: getattr(estimator, name) for name in cls.__slots__})

    def scope(self, formula: Formula, columns: Sequence[str]) -> ResolvedScope:
        """Scope as terms; ``.`` repeats the formula."""
        dot = _sum_of(formula.terms)
        upper = None if self.upper is None else scope_terms(self.upper, columns, dot)
        start = None if self.start is None else scope_terms(self.start, columns, dot)
        scoped = self.lower is not None or self.upper is not None
        return ResolvedScope(start, scope_terms(self.lower, columns, dot), upper, scoped)

    def penalty(self, n: int) -> float:
        """``k``, or what the criterion has by default."""
        if self.k is not None:
            return float(self.k)
        return float(np.log(n)) if self.criterion == "bic" else 2.0


def _sum_of(terms: Sequence[Term]) -> Expression:
    return parse(" + ".join(term.name for term in terms) or "1")


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """A finished search with what its printed form needs."""

    selection: Selection
    labels: tuple[dict[int, str], ...]
    printed: tuple[tuple[str, ...], ...]
    scope_labels: dict[int, str]
    formula: Formula
    as_written: bool

    def lines(self, number: int) -> list[str]:
        """Formula of refit ``number`` as R prints it; the start as it was written."""
        if number == 0 and self.as_written:
            return lines(self.formula.tree)
        return lines(self.model_formula(number))

    def model_formula(self, number: int) -> Expression:
        """The formula of refit ``number`` in R's simplified form."""
        parts = list(self.printed[number]) + [f"offset({text(tree)})" for tree in self.formula.offsets]
        right = " + ".join(parts) or "1"
        left = text(self.formula.response) if self.formula.response is not None else ""
        return parse(f"{left} ~ {right}{'' if self.formula.intercept else ' - 1'}")

    def label(self, number: int, sign: int, term: int) -> str:
        """Label of a candidate of the model of refit ``number``."""
        return self.labels[number][term] if sign < 0 else self.scope_labels[term]

    def trace(self) -> pd.DataFrame:
        """``trace_``."""
        return trace_frame(self.selection, self.label)

    def path(self) -> pd.DataFrame:
        """``path_``."""
        return path_frame(self.selection, self.label)

    def text(self) -> str:
        """``trace_text_``."""
        return trace_text(self.selection, self.label, self.lines)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted stepwise model.

    Parameters
    ----------
    terms : Terms
        Of the final model.
    kept : array of int
        Columns of the final model's matrix that are not aliased.
    names : tuple of str
        Of those columns.
    spread : Spread
    report : FitReport
    aliased : tuple of (str, str)
        Aliased columns of the widest model and their relations.
    offsets : tuple of Expression
    searched : Searched or None
        None after reading from a file.
    rows : (frame, design) or None
        What the domain is learned from, until it is.
    """

    terms: Terms
    kept: IntArray
    names: tuple[str, ...]
    spread: Spread
    report: FitReport
    aliased: tuple[tuple[str, str], ...]
    offsets: tuple[Expression, ...]
    searched: Searched | None
    rows: tuple[pd.DataFrame, FloatArray] | None
    _domain: list[Domain] = field(default_factory=list)

    def design(self, frame: Frame, n_rows: int) -> FloatArray:
        """The kept columns of a frame, shape (n_rows, n_kept).

        Raises
        ------
        DataError
            A term that is infinite on some row.
        """
        matrix = self.terms.columns(frame).matrix if self.terms.terms else np.ones((n_rows, int(self.terms.intercept)))
        if np.isinf(matrix).any():
            row = int(np.argwhere(np.isinf(matrix))[0][0])
            raise DataError("got an infinite value of a term, expected a finite number", place=f"row {row}")
        return matrix if len(self.kept) == matrix.shape[1] else matrix[:, self.kept]

    def offset(self, frame: Frame, n_rows: int) -> FloatArray:
        """Sum of the offsets of a frame, shape (n_rows,)."""
        total = np.zeros(n_rows)
        for tree in self.offsets:
            total = total + evaluate(tree, frame)
        return total

    def domain_frame(self, frame: Frame, n_rows: int) -> pd.DataFrame:
        """Columns of a frame that the final model reads."""
        return columns_read(self.terms, frame, n_rows)

    def domain(self) -> Domain:
        """The measured domain, learned on first use."""
        if not self._domain and self.rows is not None:
            self._domain.append(Domain.fit(*self.rows, self.names))
        return self._domain[0]


def columns_read(terms: Terms, frame: Frame, n_rows: int) -> pd.DataFrame:
    """The columns that some terms read, as a frame."""
    read = dict.fromkeys(column for variable in terms.variables for column in names(parse(variable)))
    return pd.DataFrame({name: np.asarray(raw_column(frame, name)) for name in read}, index=range(n_rows))


def fit_stepwise(
    frame: Frame,
    matrix: FloatArray | None,
    y: FloatArray,
    weights: FloatArray | None,
    formula: Formula,
    settings: Settings,
    *,
    as_written: bool,
    groups: ArrayLike | None = None,
) -> Fitted:
    """Search, refine, report.

    Parameters
    ----------
    frame : DataFrame or mapping of columns
    matrix : array, shape (n_samples, n_features), optional
        The same columns as one array, where all are numbers.
    y : array, shape (n_samples,)
    weights : array, shape (n_samples,), optional
    formula : Formula
        With its response.
    settings : Settings
    as_written : bool
        Whether the printed trace begins with the formula's own text.
    groups : array-like, shape (n_samples,), optional
        Rows that are left out together in cross-validation.
    """
    scope = settings.scope(formula, [str(name) for name in frame])
    offset = sum((evaluate(tree, frame) for tree in formula.offsets), start=np.zeros(len(y))) if formula.offsets else None
    with one_blas_thread():
        problem = make_problem(
            frame,
            y if offset is None else y - offset,
            weights,
            formula.terms,
            start=scope.start,
            lower=scope.lower,
            upper=scope.upper,
            direction=resolve_direction(settings.direction, scoped=scope.scoped),
            intercept=formula.intercept,
            na=settings.na,
        )
        labels = tuple(term.name for term in formula.terms)
        if matrix is not None and labels == tuple(text(Name(str(name))) for name in frame):
            problem.workspace.source = (matrix, labels)
        return _fit_problem(problem, frame, formula, settings, offset, as_written=as_written, groups=groups)


def _fit_problem(
    problem: Problem,
    frame: Frame,
    formula: Formula,
    settings: Settings,
    offset: FloatArray | None,
    *,
    as_written: bool,
    groups: ArrayLike | None,
) -> Fitted:
    space = FormulaSpace(problem.workspace, problem.terms, problem.start, problem.upper, problem.lower, settings.tol)
    direction, max_rank = problem.direction, _interpolating_rank(problem, space) if settings.saturated == "forward" else None
    forced = max_rank is not None
    if forced:
        every = range(len(problem.terms))
        space = FormulaSpace(problem.workspace, problem.terms, problem.lower, every, problem.lower, settings.tol)
        direction = "forward"
    relations = aliased_relations(problem, settings.tol)
    criterion = _criterion(problem, space, settings)
    selection = search(space, criterion, direction, settings.max_steps, max_rank)
    searched = _searched(problem, selection, formula, as_written=as_written and not forced)
    fit = final_fit(problem, space, offset)
    extras = _extras(problem, selection, space, settings, groups)
    report = _report(problem, space, searched, fit, settings, relations, extras, forced=forced)
    terms = problem.learned.subset(space.current)
    names_of_all = terms_column_names(terms)
    kept = np.array([names_of_all.index(name) for name in fit.names], dtype=np.int64)
    sigma, df = full_sigma(problem, space.active, settings.tol)
    spread = Spread(fit.coef, fit.unscaled_factor(), sigma, df, settings.noise)
    rows = columns_read(terms, frame, len(problem.mask)).iloc[fit.rows].reset_index(drop=True)
    aliased = tuple((relation.column, str(relation)) for relation in relations)
    return Fitted(terms, kept, fit.names, spread, report, aliased, formula.offsets, searched, (rows, fit.matrix))


def _searched(problem: Problem, selection: Selection, formula: Formula, *, as_written: bool) -> Searched:
    ids = {term.key: number for number, term in enumerate(problem.terms)}
    start = [problem.terms[term] for term in selection.path[0].model]
    labels, printed = model_labels(start, dict(enumerate(problem.terms)), ids, selection.refits)
    scope = {number: term.name for number, term in enumerate(problem.terms)}
    return Searched(selection, tuple(labels), tuple(printed), scope, formula, as_written)


def _interpolating_rank(problem: Problem, space: FormulaSpace) -> int | None:
    """Number of distinct rows where the start goes through all of them, else None."""
    base = space.base()
    if base.n_weighted <= base.rank:
        return base.n_weighted if problem.workspace.weights is None else _n_distinct(problem, space)
    if base.rss > perfect_floor(space.active.triangle):
        return None
    n_distinct = _n_distinct(problem, space)
    return n_distinct if base.rank >= n_distinct else None


def _n_distinct(problem: Problem, space: FormulaSpace) -> int:
    """Distinct rows of positive weight."""
    matrix = problem.workspace.matrix_of(space.mask)
    weights = problem.workspace.weights
    used = matrix if weights is None else matrix[weights[space.mask] > 0]
    return len(np.unique(used, axis=0))


def terms_column_names(terms: Terms) -> list[str]:
    """R's names of all columns of the terms."""
    flags = codings(terms.terms, terms.variables, intercept=terms.intercept)
    found = ["(Intercept)"] if terms.intercept else []
    for term, coding in zip(terms.terms, flags, strict=True):
        found += term_column_names(term, coding, terms.variables)
    return found


def _criterion(problem: Problem, space: FormulaSpace, settings: Settings) -> Criterion:
    triangle = space.active.triangle
    scale = settings.scale
    if settings.criterion == "cp" and scale <= 0:
        sigma, _ = full_sigma(problem, space.active, settings.tol)
        scale = sigma**2
    return Criterion(
        settings.criterion,
        k=settings.penalty(triangle.n_samples),
        scale=scale,
        alpha_enter=settings.alpha_enter,
        alpha_remove=settings.alpha_remove,
        floor=perfect_floor(triangle),
        tss=triangle.tss * triangle.rss_unit,
        n_constant=int(triangle.intercept),
    )


def _extras(
    problem: Problem, selection: Selection, space: FormulaSpace, settings: Settings, row_groups: ArrayLike | None
) -> Extras | None:
    wanted = wanted_extras(settings.report)
    if not wanted:
        return None
    workspace = problem.workspace
    mask = space.mask & workspace.complete(problem.terms)
    triangle, placed = workspace.place(problem.terms, mask)
    first = int(triangle.intercept)
    columns = np.concatenate([*placed, np.empty(0, dtype=np.int64)])
    matrix = workspace.matrix_of(mask)
    if not np.array_equal(columns, np.arange(first, triangle.n_columns)):
        matrix = matrix[:, columns - first]
    assign = np.concatenate(
        [np.zeros(first, dtype=np.int64), np.repeat(np.arange(1, len(placed) + 1), [len(group) for group in placed])]
    )
    where = {int(column): place + first for place, column in enumerate(columns)} | ({0: 0} if first else {})
    repeated = SelectionProblem(
        X=matrix,
        y=workspace.y[mask],
        assign=assign,
        weights=None if workspace.weights is None else workspace.weights[mask],
        intercept=triangle.intercept,
        keys=[term.key for term in problem.terms],
        lower=problem.lower,
        start=None if problem.start == tuple(range(len(problem.terms))) else problem.start,
        criterion=selection.criterion,
        direction=selection.direction,
        tol=settings.tol,
    )
    groups = [np.flatnonzero(assign == term + 1) for term in range(len(placed))]
    kept = np.array([where.get(int(column), -1) for column in space.active.kept()], dtype=np.int64)
    rows = None if row_groups is None else np.asarray(row_groups)[mask]
    return Extras(
        repeated,
        selection,
        space.model,
        groups,
        kept,
        wanted,
        automatic=settings.report == "auto",
        row_groups=rows,
        fixed=_coded_alike(problem, selection),
    )


def _coded_alike(problem: Problem, selection: Selection) -> bool:
    """Whether every factor keeps its columns in all models of the search (without a constant the first factor has one more)."""

    def coded(model: Sequence[int]) -> dict[int, tuple[bool, ...]]:
        terms = [problem.terms[term] for term in model]
        return dict(zip(model, codings(terms, problem.workspace.variables, intercept=problem.workspace.intercept), strict=True))

    whole = coded(sorted(range(len(problem.terms)), key=lambda term: problem.terms[term].order))
    models = {table.model for table in selection.tables} | {point.model for point in selection.refits}
    return all(whole[term] == coding for model in models for term, coding in coded(model).items())


def _report(
    problem: Problem,
    space: FormulaSpace,
    searched: Searched,
    fit: LinearFit,
    settings: Settings,
    relations: Sequence[Relation],
    extras: Extras | None,
    *,
    forced: bool,
) -> FitReport:
    selection, active = searched.selection, space.active
    floor = perfect_floor(active.triangle)
    figures = fit_figures(fit, floor)
    inference = infer(fit)
    number = condition(fit)[0]
    labels = tuple(term.name for term in space.current)
    identity = FitIdentity(
        text(searched.model_formula(-1)),
        labels,
        settings.noise,
        fit.weights is not None,
        selection.criterion.name,
        selection.direction,
        selection.criterion.k,
        selection.n_candidates,
        fit.n_samples,
        len(problem.mask) - fit.n_samples,
        fit.rank,
        fit.df_resid,
        tuple(str(relation) for relation in relations),
        forced,
        bool(fit.rss <= floor),
    )
    found = relation_warnings(fit, figures, inference, number, labels, _mape(fit))
    if forced:
        found.append("the start had as many parameters as rows: searched forward instead")
    if identity.perfect:
        found.append("essentially perfect fit: its criterion and tests are rounding noise")
    if active.n_downdates:
        active = space.fresh()
    anova = sequential_anova(fit, active.subset.side, active.triangle.rss_unit, labels)
    drops = drop_table(active, [term.key for term in space.current], labels)
    return FitReport(
        identity, figures, fit.names, fit.coef, inference, number, anova, drops, tuple(found), settings.ordered, fit, extras
    )


def _mape(fit: LinearFit) -> float | None:
    y = fit.y if fit.offset is None else fit.y + fit.offset
    return float(np.abs(fit.residuals / y).mean()) if (y > 0).all() else None
