"""From a finished search to the final model: which columns stayed, their names, the refined fit, what was aliased."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.algebra.aliasing import Relation, factor_columns, name_relations
from mlperf.models.estimators.stepwise.problem import Problem
from mlperf.models.formula.terms import codings, term_column_names
from mlperf.models.selection.active import Active
from mlperf.models.selection.formulaspace import FormulaSpace
from mlperf.models.selection.linear import LinearFit, fit_columns


def final_fit(problem: Problem, space: FormulaSpace, offset: FloatArray | None = None) -> LinearFit:
    """Fit the space's current model on its alias-free columns.

    Parameters
    ----------
    problem : Problem
    space : FormulaSpace
    offset : array, shape (n_samples,), optional
        What was taken off the response.
    """
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


def aliased_relations(problem: Problem, tol: float) -> tuple[Relation, ...]:
    """Columns that R would alias in the model with all terms, each with its relation to the others."""
    workspace = problem.workspace
    terms = sorted(problem.terms, key=lambda term: term.order)
    mask = workspace.complete(terms)
    if not mask.any():
        return ()
    triangle, groups = workspace.place(terms, mask)
    flags = codings(terms, workspace.variables, intercept=workspace.intercept)
    names = ["(Intercept)"] * triangle.n_columns
    for term, coding, group in zip(terms, flags, groups, strict=True):
        for column, name in zip(group.tolist(), term_column_names(term, coding, workspace.variables), strict=True):
            names[column] = name
    columns = np.concatenate([np.zeros(int(workspace.intercept), dtype=np.int64), *groups])
    subset = factor_columns(triangle, columns, tol)
    return name_relations(triangle, subset, names) if len(subset.aliased) else ()


def full_sigma(problem: Problem, active: Active, tol: float) -> tuple[float, float]:
    """Residual standard deviation and degrees of freedom of the model with every column of the triangle.

    The selected model's own is too small after a search; where the full model leaves nothing, it is all there is.
    """
    triangle = active.triangle
    subset = factor_columns(triangle, np.arange(triangle.n_columns), tol)
    df = triangle.n_weighted - len(subset.columns)
    if df < 1 or problem.direction != "backward":
        df_own = triangle.n_weighted - active.rank
        return (float(np.sqrt(active.rss / df_own)), float(df_own)) if df_own > 0 else (float("nan"), 0.0)
    return float(np.sqrt(subset.root_rss**2 * triangle.rss_unit / df)), float(df)
