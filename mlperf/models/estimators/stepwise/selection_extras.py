"""After a finished search: what repeats it, and what the report warns of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.estimators.stepwise.problem import Problem, Settings
from mlperf.models.formula.formula import Term
from mlperf.models.formula.terms import codings
from mlperf.models.formula.variables import Variable
from mlperf.models.inference.diagnostics import variance_inflation
from mlperf.models.inference.figures import FitFigures
from mlperf.models.inference.inference import Inference
from mlperf.models.inference.report_extras import Extras, wanted_extras
from mlperf.models.inference.stability import SelectionProblem
from mlperf.models.selection.formulaspace import FormulaSpace
from mlperf.models.selection.linear import LinearFit
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


FEW_ROWS, ROWS_A_COEFFICIENT = 10, 3


def few_rows_warning(n_rows: int, rank: int) -> list[str]:
    """One line where rows are fewer than ten, or than three a coefficient; nothing else."""
    if n_rows >= max(FEW_ROWS, ROWS_A_COEFFICIENT * rank):
        return []
    return [
        f"few rows: {n_rows} rows for {rank} coefficients; tests see only very large effects, intervals are wide, and other rows "
        f"may well select other terms: measure at least {max(FEW_ROWS, ROWS_A_COEFFICIENT * rank)}"
    ]


class Contrasts(NamedTuple):
    """Where coefficients are differences between levels: numbers of the terms, from 1, and the levels that they differ from."""

    terms: frozenset[int]
    baselines: tuple[str, ...]


def factor_contrasts(terms: Sequence[Term], variables: Mapping[str, Variable], *, intercept: bool) -> Contrasts:
    """Terms of a model in which a factor is coded by differences from its first level, and these levels: ``"gpu A100"``."""
    numbers, baselines = set(), {}
    for number, (term, coding) in enumerate(zip(terms, codings(terms, variables, intercept=intercept), strict=True), 1):
        factors = [variables[name] for name, full in zip(term.variables, coding, strict=True) if not full]
        for variable in (each for each in factors if each.is_factor and len(each.levels) > 1):
            numbers.add(number)
            if variable.kind == "factor":
                baselines[variable.name] = f"{variable.name} {variable.levels[0]}"
    return Contrasts(frozenset(numbers), tuple(baselines.values()))


def relation_warnings(
    fit: LinearFit,
    figures: FitFigures,
    inference: Inference,
    number: float,
    terms: tuple[str, ...],
    mape: float | None,
    differences: Collection[int] = (),
) -> list[str]:
    """What the reader must not overlook.

    Parameters
    ----------
    fit, figures, inference
        Of the final model.
    number : float
        Condition number.
    terms : tuple of str
    mape : float or None
        Mean relative error on the fitted rows, where all values are positive.
    differences : collection of int
        Numbers of the terms, from 1, whose coefficients are differences between levels of a factor: those have either sign.
    """
    found = []
    per_term = variance_inflation(fit)[1]
    high = [f"{terms[term - 1]} {value ** (1.0 / df):.3g}" for term, (value, df) in per_term.items() if value ** (1.0 / df) > 10.0]
    if high:
        found.append(
            f"collinear: variance inflation above 10 for {', '.join(high)}; signs and sizes of these coefficients mean little"
        )
    if mape is not None and mape > 0.3 and figures.r2_adj > 0.9:
        found.append(
            f"adjusted R2 {figures.r2_adj:.3f} beside a mean relative error of {100 * mape:.0f} %: "
            "the fit serves the largest values only"
        )
    below = float((fit.y - fit.residuals <= 0.0).mean()) if mape is not None else 0.0
    if below > 0.0:
        found.append(
            f"negative predictions: {100 * below:.1f} % of the fitted rows are predicted at or below zero, all are measured above"
        )
    limit = max(1e-8, 1e-14 * number)
    if np.isfinite(inference.disagreement) and inference.disagreement > limit:
        found.append(f"statsmodels and the refined solution differ by {inference.disagreement:.1e}; the refined one is shown")
    return found + _sign_warnings(fit, differences)


def _sign_warnings(fit: LinearFit, differences: Collection[int]) -> list[str]:
    """Where a model of positive values turns negative: fitted values, and coefficients of columns that never are."""
    y = fit.y if fit.offset is None else fit.y + fit.offset
    if not (y > 0).all():
        return []
    found = []
    n_negative = int((fit.fitted() < 0).sum())
    if n_negative:
        found.append(f"{n_negative} fitted values are negative although every measured one is positive")
    if fit.offset is None and fit.rank:
        lowest, highest = fit.matrix.min(axis=0), fit.matrix.max(axis=0)
        costs = (lowest >= 0) & ~((lowest == 0) & (highest == 1)) & (fit.assign > 0) & (fit.coef < 0)
        costs &= ~np.isin(fit.assign, list(differences))
        if costs.any():
            names = ", ".join(name for name, cost in zip(fit.names, costs, strict=True) if cost)
            found.append(f"negative coefficient of a column that is never negative: {names}")
    return found
