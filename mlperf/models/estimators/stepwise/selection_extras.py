"""From a finished search to what repeats it, and candidates it left out although the rows cannot tell them from one it kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.estimators.stepwise.problem import Problem, Settings
from mlperf.models.formula.formula import Term
from mlperf.models.formula.terms import codings
from mlperf.models.inference.report_extras import Extras, wanted_extras
from mlperf.models.inference.stability import SelectionProblem
from mlperf.models.selection.formulaspace import FormulaSpace
from mlperf.models.selection.search import Selection


def selection_extras(
    problem: Problem, selection: Selection, space: FormulaSpace, settings: Settings, row_groups: IntArray | None
) -> Extras | None:
    """What the blocks after a selection need; None where all are switched off."""
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
    rows = None if row_groups is None else row_groups[mask]
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
        labels=tuple(term.name for term in problem.terms),
    )


def _coded_alike(problem: Problem, selection: Selection) -> bool:
    """Whether every factor keeps its columns in all models of the search (without a constant the first factor has one more)."""
    if not any(variable.is_factor for variable in problem.workspace.variables.values()):
        return True

    def coded(model: Sequence[int]) -> dict[int, tuple[bool, ...]]:
        terms = [problem.terms[term] for term in model]
        return dict(zip(model, codings(terms, problem.workspace.variables, intercept=problem.workspace.intercept), strict=True))

    whole = coded(sorted(range(len(problem.terms)), key=lambda term: problem.terms[term].order))
    models = {table.model for table in selection.tables} | {point.model for point in selection.refits}
    return all(whole[term] == coding for model in models for term, coding in coded(model).items())


LEAST_CORRELATION = 0.995
"""Variance inflation of about 100 with both in the model."""
MAX_WARNINGS = 5


def twin_warnings(problem: Problem, kept: Sequence[Term]) -> list[str]:
    """Name every candidate of one column that is not in the model and correlates with one that is, strongest first.

    Parameters
    ----------
    problem : Problem
    kept : sequence of Term
        Terms of the final model.
    """
    terms = sorted(problem.terms, key=lambda term: term.order)
    mask = problem.workspace.complete(terms)
    inside = {term.key for term in kept}
    if len(kept) == len(terms) or not mask.any():
        return []
    triangle, groups = problem.workspace.place(terms, mask)
    single = [(term, int(group[0])) for term, group in zip(terms, groups, strict=True) if len(group) == 1]
    own = [pair for pair in single if pair[0].key in inside]
    left = [pair for pair in single if pair[0].key not in inside]
    if not own or not left:
        return []
    rows = triangle.r[int(triangle.intercept) :]
    correlation = correlations(rows[:, [column for _, column in left]], rows[:, [column for _, column in own]])
    nearest = np.abs(correlation).argmax(axis=1)
    strength = correlation[np.arange(len(left)), nearest]
    found = [place for place in np.argsort(-np.abs(strength), kind="stable").tolist() if abs(strength[place]) >= LEAST_CORRELATION]
    return [
        f"collinear: {left[place][0].name} was left out and correlates at {strength[place]:.4f} with "
        f"{own[nearest[place]][0].name}; these rows cannot tell which of them matters"
        for place in found[:MAX_WARNINGS]
    ]


def correlations(left: FloatArray, right: FloatArray) -> FloatArray:
    """Cosines of columns that are already centred, shape (n_left, n_right); 0 for a zero column."""
    lengths = np.outer(np.sqrt((left**2).sum(axis=0)), np.sqrt((right**2).sum(axis=0)))
    return np.asarray(np.divide(left.T @ right, lengths, out=np.zeros(lengths.shape), where=lengths > 0))
