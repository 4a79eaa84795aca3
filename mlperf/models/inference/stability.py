"""How stable a selection is: the models that bootstrap resamples of the rows would have chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.core.threads import one_blas_thread
from mlperf.models.algebra.aliasing import factor_columns
from mlperf.models.algebra.triangle import Triangle, triangle
from mlperf.models.selection.criteria import Criterion
from mlperf.models.selection.lockstep import Outcomes, Structure, lockstep_selections, resample_counts
from mlperf.models.selection.spaces import column_groups, default_criterion, select

N_FREQUENT = 10
# A bootstrap resample holds 63 % of the rows once or more; with fewer distinct rows than columns it fits perfectly.
DISTINCT_SHARE = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Stability(Shown):
    """What the resamples selected.

    Attributes
    ----------
    n_resamples : int
        Selections made.
    inclusion : array, shape (n_terms,)
        Share of them that kept each term id.
    n_models : int
        Different models among them.
    models : tuple of tuple of int
        Term ids of the ten most frequent models, most frequent first.
    frequency : array, shape (len(models),)
        Their shares.
    reported_frequency : float
        Share that chose the reported model.
    coef_lower, coef_upper : array, shape (n_columns,)
        2.5 % and 97.5 % quantiles of each column's coefficient over the resamples that kept it, in its unit; NaN where none did.
    n_aliased : int
        Resamples in which a column was a sum of others (or zero) though not in the data; it counts as left out there.
    n_failed : int
        Resamples that could not be fitted; they count in nothing.
    """

    n_resamples: int
    inclusion: FloatArray
    n_models: int
    models: tuple[tuple[int, ...], ...]
    frequency: FloatArray
    reported_frequency: float
    coef_lower: FloatArray
    coef_upper: FloatArray
    n_aliased: int
    n_failed: int

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Stability:
        """What `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            models = tuple(
                Fields({"terms": terms}, f"{path}.models[{place}]").integers("terms")
                for place, terms in enumerate(fields.items("models"))
            )
            coef_lower = fields.numbers("coef_lower", finite=False)
            return cls(
                fields.integer("n_resamples", lower=1),
                fields.numbers("inclusion", lower=0.0),
                fields.integer("n_models", lower=1),
                models,
                fields.numbers("frequency", len(models), lower=0.0),
                fields.number("reported_frequency", lower=0.0, upper=1.0),
                coef_lower,
                fields.numbers("coef_upper", len(coef_lower), finite=False),
                fields.integer("n_aliased"),
                fields.integer("n_failed"),
            )

    def to_frame(self) -> pd.DataFrame:
        """One row for each of the most frequent models."""
        return pd.DataFrame({"terms": self.models, "frequency": self.frequency})


@dataclass(frozen=True, slots=True, eq=False)
class SelectionProblem:
    """Everything that one selection needs, so that it can be repeated on other rows.

    Attributes
    ----------
    X : array, shape (n_samples, n_features)
        Columns without the constant.
    y : array, shape (n_samples,)
    weights : array, shape (n_samples,), or None
    assign : array of int, shape (n_columns,)
        Term of each column of the triangle, 0 for the constant.
    intercept : bool
    keys : sequence of frozenset, or None
        Variables of each term, for marginality.
    lower, start : of int
        Term ids that stay, and that the search starts from (None: all, or ``lower`` where forward).
    criterion : Criterion or None
        Default AIC.
    direction : str
    tol : float
    """

    X: FloatArray
    y: FloatArray
    assign: IntArray
    weights: FloatArray | None = None
    intercept: bool = True
    keys: Sequence[frozenset[str]] | None = None
    lower: Collection[int] = ()
    start: Sequence[int] | None = None
    criterion: Criterion | None = None
    direction: str = "backward"
    tol: float = 1e-7

    def triangle(self, rows: IntArray | slice = slice(None)) -> Triangle:
        """Triangle of some rows (with repeats)."""
        return triangle(self.X[rows], self.y[rows], None if self.weights is None else self.weights[rows], intercept=self.intercept)

    def select(self, factor: Triangle) -> tuple[int, ...]:
        """Term ids that the selection on this triangle ends with."""
        criterion = self.criterion or default_criterion(factor)
        how = {"keys": self.keys, "lower": self.lower, "start": self.start, "tol": self.tol}
        return select(factor, self.assign, criterion, self.direction, **how).refits[-1].model  # type: ignore[arg-type]


def selection_stability(problem: SelectionProblem, reported: Collection[int], n_resamples: int = 1000, seed: int = 0) -> Stability:
    """Repeat a selection on bootstrap resamples of its rows.

    Backward selections run in lockstep (the resamples that are nearly singular one at a time), others one at a time.

    Parameters
    ----------
    problem : SelectionProblem
    reported : collection of int
        Term ids of the model that was reported.
    n_resamples : int
    seed : int

    Raises
    ------
    UsageError
        n_resamples < 1.
    FitError
        Too few rows: resamples would have fewer distinct rows than columns.

    References
    ----------
    Sauerbrei and Schumacher (1992), A bootstrap resampling procedure for model building.
    """
    if n_resamples < 1:
        raise UsageError(f"got n_resamples={n_resamples}, expected at least 1", place="selection_stability")
    n_samples, n_columns = len(problem.y), problem.X.shape[1] + problem.intercept
    if DISTINCT_SHARE * n_samples <= n_columns:
        raise FitError(
            f"got {n_samples} rows for {n_columns} columns, expected more than {n_columns / DISTINCT_SHARE:.0f}",
            hint="Resamples would have fewer distinct rows than columns.",
        )
    with one_blas_thread():
        outcomes = _outcomes(problem, n_resamples, seed)
    return _summary(outcomes, reported)


def _outcomes(problem: SelectionProblem, size: int, seed: int) -> Outcomes:
    groups = column_groups(problem.assign)
    first = problem.triangle()
    n_terms, n_columns = len(groups), first.n_columns
    outcomes = Outcomes(
        np.zeros((size, n_terms), dtype=np.bool_),
        np.full((size, n_columns), np.nan),
        np.zeros(size, dtype=np.bool_),
        np.zeros(size, dtype=np.bool_),
    )
    criterion = problem.criterion or default_criterion(first)
    together = structure_of(problem, first)
    if together is not None:
        terms, columns, structure = together
        design = np.hstack([np.ones((len(problem.y), 1)), problem.X]) if problem.intercept else problem.X
        root = np.ones(len(problem.y)) if problem.weights is None else np.sqrt(problem.weights)
        done = lockstep_selections(design[:, columns] * root[:, None], problem.y * root, structure, criterion, size, seed)
        outcomes.kept[:, terms], outcomes.coef[:, columns] = done.kept, done.coef
        outcomes = Outcomes(outcomes.kept, outcomes.coef, done.decided, done.aliased)
    return _one_at_a_time(problem, groups, outcomes, size, seed)


def structure_of(problem: SelectionProblem, factor: Triangle) -> tuple[list[int], IntArray, Structure] | None:
    """Terms and columns of a problem for the lockstep engine, aliased ones left out.

    Returns
    -------
    (terms, columns, structure) or None
        Ids of the terms with columns of their own, the columns of the triangle, and both as seen by the engine; None where it
        does not apply: another direction, a start, ``p_value``, or a term with some of its columns aliased.
    """
    criterion = problem.criterion or default_criterion(factor)
    if problem.direction != "backward" or problem.start is not None or criterion.name == "p_value":
        return None
    groups = column_groups(problem.assign)
    columns = factor_columns(factor, np.arange(factor.n_columns), problem.tol).columns
    place = {int(column): position for position, column in enumerate(columns)}
    own = [sum(int(column) in place for column in group) for group in groups]
    terms = [term for term, n_own in enumerate(own) if n_own]
    if not terms or any(own[term] < len(groups[term]) for term in terms):
        return None
    keys = [problem.keys[term] if problem.keys is not None else frozenset([str(term)]) for term in terms]
    fixed = np.array([term in set(problem.lower) for term in terms])
    # A term of the lower scope protects nothing of its own: it is not among those that could leave.
    inside = np.array([[a < b and not fixed[j] for j, b in enumerate(keys)] for a in keys], dtype=np.bool_)
    positions = [np.array([place[int(column)] for column in groups[term]]) for term in terms]
    return terms, columns, Structure(positions, inside, fixed, int(problem.intercept))


def _one_at_a_time(problem: SelectionProblem, groups: Sequence[IntArray], outcomes: Outcomes, size: int, seed: int) -> Outcomes:
    """Fill in the resamples that are not decided yet."""
    todo = np.flatnonzero(~outcomes.decided)
    if len(todo) == 0:
        return outcomes
    counts = np.hstack([part[todo] for _, part in resample_counts(len(problem.y), size, seed)])
    for resample, count in zip(todo.tolist(), counts, strict=True):
        factor = problem.triangle(np.repeat(np.arange(len(count)), count))
        try:
            model = problem.select(factor)
        except FitError:
            outcomes.kept[resample] = False
            continue
        constant = np.zeros(int(problem.intercept), dtype=np.int64)
        fit = factor_columns(factor, np.concatenate([constant, *(groups[term] for term in model)]), problem.tol)
        coef = np.linalg.solve(fit.factor, fit.side) * factor.scale[-1] / factor.scale[fit.columns]
        outcomes.kept[resample] = np.isin(np.arange(len(groups)), model)
        outcomes.coef[resample] = np.nan
        outcomes.coef[resample, fit.columns] = coef
        outcomes.decided[resample] = True
    return outcomes


def _summary(outcomes: Outcomes, reported: Collection[int]) -> Stability:
    kept = outcomes.kept[outcomes.decided]
    if len(kept) == 0:
        raise FitError("no resample could be fitted", hint="Measure more rows.")
    models, counts = np.unique(np.packbits(kept, axis=1), axis=0, return_counts=True)
    order = np.lexsort((np.arange(len(counts)), -counts))[:N_FREQUENT]
    shown = np.unpackbits(models[order], axis=1)[:, : kept.shape[1]]
    chosen = np.isin(np.arange(kept.shape[1]), list(reported))
    bounds = [_quantiles(column) for column in outcomes.coef[outcomes.decided].T]
    return Stability(
        n_resamples=len(kept),
        inclusion=kept.mean(axis=0),
        n_models=len(counts),
        models=tuple(tuple(np.flatnonzero(row).tolist()) for row in shown),
        frequency=counts[order] / len(kept),
        reported_frequency=float((kept == chosen).all(axis=1).mean()),
        coef_lower=np.array([lower for lower, _ in bounds]),
        coef_upper=np.array([upper for _, upper in bounds]),
        n_aliased=int(outcomes.aliased.sum()),
        n_failed=int((~outcomes.decided).sum()),
    )


def _quantiles(values: FloatArray) -> tuple[float, float]:
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return float("nan"), float("nan")
    lower, upper = np.quantile(values, [0.025, 0.975])
    return float(lower), float(upper)
