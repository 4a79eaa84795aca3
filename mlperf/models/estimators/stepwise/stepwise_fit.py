"""One stepwise fit from resolved data to everything the estimator publishes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.core.threads import one_blas_thread
from mlperf.models.algebra.aliasing import Relation
from mlperf.models.estimators.stepwise.fitted import FittedTerms, LaterReport, SearchOutcome, columns_read
from mlperf.models.estimators.stepwise.problem import Problem, Settings, make_problem, resolve_direction
from mlperf.models.estimators.stepwise.selection_extras import (
    factor_contrasts,
    few_rows_warning,
    relation_warnings,
    selection_extras,
    twin_warnings,
)
from mlperf.models.estimators.stepwise.widest_model import WidestModel
from mlperf.models.formula.evaluate import Frame, evaluate
from mlperf.models.formula.expressions import Name, text
from mlperf.models.formula.formula import Formula
from mlperf.models.formula.terms import codings, term_column_names
from mlperf.models.inference.anova import drop_table, sequential_anova
from mlperf.models.inference.clustered import RowGroups, group_numbers
from mlperf.models.inference.diagnostics import condition
from mlperf.models.inference.figures import FitIdentity, fit_figures
from mlperf.models.inference.inference import STATSMODELS_ROWS, infer
from mlperf.models.inference.report import FitReport
from mlperf.models.inference.report_extras import Extras
from mlperf.models.selection.criteria import Criterion
from mlperf.models.selection.formulaspace import FormulaSpace
from mlperf.models.selection.linear import LinearFit, fit_columns
from mlperf.models.selection.search import search
from mlperf.models.selection.spaces import perfect_floor
from mlperf.models.uncertainty.spread import Spread


def _final_fit(problem: Problem, space: FormulaSpace, offset: FloatArray | None = None) -> LinearFit:
    """Fit the space's current model on its alias-free columns; ``offset`` was taken off the response."""
    workspace, active = problem.workspace, space.active
    terms = space.current
    kept = active.kept()
    names, assign = _labels(problem, space)
    blocks = {}
    at = int(workspace.intercept)
    rows = np.flatnonzero(space.mask)
    triangle, groups = workspace.place(terms, space.mask)
    matrix = np.empty((len(rows), len(kept)), order="F")
    if workspace.intercept and len(kept) and kept[0] == 0:
        matrix[:, 0] = 1.0
    stored = workspace.blocks(space.mask)
    for group, block in zip(groups, (stored[place] for place in workspace.places(terms)), strict=True):
        blocks.update({int(column): block[:, position] for position, column in enumerate(group)})
    for position, column in enumerate(kept.tolist()):
        if column >= at:
            matrix[:, position] = blocks[column]
    y = workspace.y[rows] if len(rows) < len(workspace.y) else workspace.y
    weights = None if workspace.weights is None else workspace.weights[rows]
    if weights is not None and (weights == 0).any():
        used = weights > 0
        matrix, y, weights, rows = matrix[used], y[used], weights[used], rows[used]
    chosen = tuple(names[column] for column in kept.tolist())
    return fit_columns(
        matrix,
        y,
        weights,
        chosen,
        assign[kept],
        rows,
        int(space.mask.sum()),
        triangle,
        kept,
        None if offset is None else offset[rows],
    )


def _labels(problem: Problem, space: FormulaSpace) -> tuple[dict[int, str], IntArray]:
    """Name of every column of the current model, and the term (from 1) of every column of the triangle."""
    workspace = problem.workspace
    terms = space.current
    _, groups = workspace.place(terms, space.mask)
    names = {0: "(Intercept)"} if workspace.intercept else {}
    assign = np.zeros(space.active.triangle.n_columns, dtype=np.int64)
    flags = codings(terms, workspace.variables, intercept=workspace.intercept)
    for number, (term, coding, group) in enumerate(zip(terms, flags, groups, strict=True), 1):
        assign[group] = number
        names.update(zip(group.tolist(), term_column_names(term, coding, workspace.variables), strict=True))
    return names, assign


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
) -> FittedTerms:
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
        Rows that belong together: left out at once in cross-validation, their errors taken for correlated in the report.
    """
    scope = settings.scope(formula, [str(name) for name in frame])
    offset = sum((evaluate(tree, frame) for tree in formula.offsets), start=np.zeros(len(y))) if formula.offsets else None
    direction = resolve_direction(settings.direction, scoped=scope.scoped)
    with one_blas_thread():
        problem = make_problem(
            frame,
            y if offset is None else y - offset,
            weights,
            formula.terms,
            start=scope.lower if scope.start is None and direction == "forward" and not as_written else scope.start,
            lower=scope.lower,
            upper=scope.upper,
            direction=direction,
            intercept=formula.intercept,
            na=settings.na,
        )
        labels = tuple(term.name for term in formula.terms)
        if matrix is not None and labels == tuple(text(Name(str(name))) for name in frame):
            problem.workspace.source = (matrix, labels)
        named = None if groups is None else group_numbers(groups, len(y))
        return _fit_problem(problem, frame, formula, settings, offset, as_written=as_written, groups=named)


def _fit_problem(
    problem: Problem,
    frame: Frame,
    formula: Formula,
    settings: Settings,
    offset: FloatArray | None,
    *,
    as_written: bool,
    groups: IntArray | None,
) -> FittedTerms:
    space = FormulaSpace(problem.workspace, problem.terms, problem.start, problem.upper, problem.lower, settings.tol)
    direction, max_rank = problem.direction, _interpolating_rank(problem, space) if settings.saturated == "forward" else None
    forced = max_rank is not None
    if forced:
        every = range(len(problem.terms))
        space = FormulaSpace(problem.workspace, problem.terms, problem.lower, every, problem.lower, settings.tol)
        direction = "forward"
    widest = WidestModel.of(problem, settings.tol)
    criterion = _criterion(space, settings, widest)
    selection = search(space, criterion, direction, settings.max_steps, max_rank)
    searched = SearchOutcome(selection, problem.terms, formula, as_written and not forced)
    fit = _final_fit(problem, space, offset)
    relations = () if widest is None else widest.relations(fit.names)
    extras = selection_extras(problem, selection, space, settings, groups)
    columns = columns_read(problem.learned, frame)
    belonging = RowGroups(columns, fit.rows, groups)
    make = partial(_report, problem, space, searched, fit, settings, relations, extras, belonging, forced=forced)
    terms = problem.learned.subset(space.current)
    names_of_all = terms.column_names
    kept = np.array([names_of_all.index(name) for name in fit.names], dtype=np.int64)
    spread = Spread(fit.coef, fit.unscaled_factor(), *_sigma(widest, fit), settings.noise)
    aliased = tuple((relation.column, str(relation)) for relation in relations)
    rows = (columns, fit.rows, fit.matrix)
    # Where blocks after the selection are wanted, the report is. Of many rows it takes little beside the search, and all columns
    # of the candidates would be kept for it.
    later = extras is None and len(fit.y) <= STATSMODELS_ROWS
    told = LaterReport(make) if later else LaterReport.known(make())
    return FittedTerms(terms, kept, fit.names, spread, told, aliased, formula.offsets, searched, rows)


def _sigma(widest: WidestModel | None, fit: LinearFit) -> tuple[float, float]:
    """Residual standard deviation and its degrees of freedom, of the widest model where it leaves any.

    After a search the selected model's own is too small.
    """
    if widest is not None and widest.df_resid > 0:
        return float(np.sqrt(widest.variance)), float(widest.df_resid)
    return fit.sigma, float(max(fit.df_resid, 0))


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


def _criterion(space: FormulaSpace, settings: Settings, widest: WidestModel | None) -> Criterion:
    triangle = space.active.triangle
    scale = settings.scale
    if settings.criterion == "cp" and scale <= 0:
        if widest is None or widest.df_resid < 1:
            raise FitError(
                "got no residual degree of freedom in the model with all terms, from which criterion='cp' takes its variance",
                hint="Give the variance of the noise as scale=, name fewer terms, or use criterion='aicc'.",
            )
        scale = widest.variance
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


@one_blas_thread()
def _report(
    problem: Problem,
    space: FormulaSpace,
    searched: SearchOutcome,
    fit: LinearFit,
    settings: Settings,
    relations: Sequence[Relation],
    extras: Extras | None,
    belonging: RowGroups,
    *,
    forced: bool,
) -> FitReport:
    selection, active = searched.selection, space.active
    floor = perfect_floor(active.triangle)
    figures = fit_figures(fit, floor)
    inference = infer(fit)
    number = condition(fit)[0]
    labels = tuple(term.name for term in space.current)
    contrasts = factor_contrasts(space.current, problem.workspace.variables, intercept=problem.workspace.intercept)
    identity = FitIdentity(
        searched.last_formula(space.current),
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
        tuple(contrasts.baselines),
    )
    found = few_rows_warning(len(fit.y), fit.rank)
    found += relation_warnings(fit, figures, inference, number, labels, _mape(fit), contrasts.terms)
    found += twin_warnings(problem, space.current)
    if forced:
        found.append("the start had as many parameters as rows: searched forward instead")
    if identity.perfect:
        found.append("essentially perfect fit: its criterion and tests are rounding noise")
    if active.n_downdates:
        active = space.fresh()
    anova = sequential_anova(fit, active.subset.side, active.triangle.rss_unit, labels)
    drops = drop_table(active, [term.key for term in space.current], labels)
    return FitReport(
        identity,
        figures,
        fit.names,
        fit.coef,
        inference,
        number,
        anova,
        drops,
        tuple(found),
        settings.ordered,
        fit,
        extras,
        belonging,
    )


def _mape(fit: LinearFit) -> float | None:
    y = fit.y if fit.offset is None else fit.y + fit.offset
    return float(np.abs(fit.residuals / y).mean()) if (y > 0).all() else None
