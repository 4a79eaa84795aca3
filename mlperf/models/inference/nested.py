"""Cross-validated error of a selected model, the selection repeated inside every fold, from one pass over the data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown, plain
from mlperf.core.threads import one_blas_thread
from mlperf.models.algebra.aliasing import factor_columns
from mlperf.models.algebra.blockqr import upper_factor
from mlperf.models.algebra.fixed_order import evaluate_fixed_order
from mlperf.models.algebra.triangle import Triangle
from mlperf.models.inference.stability import SelectionProblem, structure_of
from mlperf.models.selection.lockstep import Fits
from mlperf.models.selection.spaces import column_groups, default_criterion
from mlperf.models.validation.folds import Fold, grouped_folds
from mlperf.models.validation.left_out import fold_numbers, over_folds
from mlperf.models.validation.scores import ErrorSummary, r2, relative_errors


@dataclass(frozen=True, slots=True, eq=False)
class FoldModels:
    """The models of the folds and what each left out.

    Attributes
    ----------
    predicted : array, shape (n_samples,)
        Prediction of each row by the model that had not seen it, in the unit of y.
    fold_of : array of int, shape (n_samples,)
        Fold that left out each row.
    coef : array, shape (n_folds, n_columns)
        Coefficients in data units over all columns of the problem, the constant first; 0 for columns not selected.
    terms : tuple of tuple of int
        Term ids that each fold selected.
    """

    predicted: FloatArray
    fold_of: IntArray
    coef: FloatArray
    terms: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class NestedError(Shown):
    """Error on left-out rows beside the error on the rows of the fit.

    Attributes
    ----------
    n_folds : int
    n_models : int
        Different models that the folds selected.
    rmse, apparent_rmse : float
        Root mean square error of left-out rows, and of the rows that were fitted; unit of y.
    r2 : float
        1 - squared error of left-out rows over their squares about the mean.
    errors, apparent : ErrorSummary or None
        Relative errors of left-out and of fitted rows; None where a measured value is not positive.
    optimism : float
        Apparent minus cross-validated MAPE: below zero by as much as the apparent error is too good; NaN without relative errors.
    models : FoldModels or None
        Not part of `to_dict`; None in a report that was read from a file.
    """

    n_folds: int
    n_models: int
    rmse: float
    apparent_rmse: float
    r2: float
    errors: ErrorSummary | None
    apparent: ErrorSummary | None
    optimism: float
    models: FoldModels | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, as JSON types."""
        return {name: plain(getattr(self, name)) for name in self.__slots__ if name != "models"}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> NestedError:
        """What `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            return cls(
                fields.integer("n_folds", lower=2),
                fields.integer("n_models", lower=1),
                fields.number("rmse", finite=False),
                fields.number("apparent_rmse", finite=False),
                fields.number("r2", finite=False),
                None if fields.absent("errors") else ErrorSummary.from_fields(fields.child("errors")),
                None if fields.absent("apparent") else ErrorSummary.from_fields(fields.child("apparent")),
                fields.number("optimism", finite=False),
            )

    def to_frame(self) -> pd.DataFrame:
        """Cross-validated and apparent errors side by side."""
        both = {"cross-validated": self.errors, "apparent": self.apparent}
        rows = {name: {} if errors is None else errors.to_dict() for name, errors in both.items()}
        rows["cross-validated"]["rmse"], rows["apparent"]["rmse"] = self.rmse, self.apparent_rmse
        return pd.DataFrame(rows).T


def nested_error(
    problem: SelectionProblem, reported: Collection[int], groups: Any = None, n_folds: int = 10, seed: int = 0
) -> NestedError:
    """Cross-validate the whole procedure: select, fit and predict with whole groups of rows left out.

    Parameters
    ----------
    problem : SelectionProblem
    reported : collection of int
        Term ids of the reported model, for the apparent error.
    groups : array-like, shape (n_samples,), optional
        Rows that stay together (a configuration, a CNN, a machine); default: rows with identical columns.
    n_folds : int
        At most; no more than there are groups.
    seed : int
        Of the random assignment of groups to folds.

    Raises
    ------
    FitError
        Fewer than two groups, or a fold that leaves too few rows; the fold is named.
    """
    with one_blas_thread():
        models = fold_models(problem, groups, n_folds, seed)
        whole = problem.triangle()
        design = _design(problem)
        fitted = evaluate_fixed_order(design, _coefficients(problem, whole, reported))
    positive = bool((problem.y > 0.0).all())
    errors = relative_errors(models.predicted, problem.y) if positive else None
    apparent = relative_errors(fitted, problem.y) if positive else None
    missed = np.square(problem.y - models.predicted)
    return NestedError(
        n_folds=len(models.coef),
        n_models=len(set(models.terms)),
        rmse=float(np.sqrt(missed.mean())),
        apparent_rmse=float(np.sqrt(np.square(problem.y - fitted).mean())),
        r2=r2(models.predicted, problem.y),
        errors=errors,
        apparent=apparent,
        optimism=apparent.mape - errors.mape if errors is not None and apparent is not None else float("nan"),
        models=models,
    )


def fold_models(problem: SelectionProblem, groups: Any = None, n_folds: int = 10, seed: int = 0) -> FoldModels:
    """Select and fit with each fold left out; one triangle a fold, joined for all but one; see `nested_error`."""
    design = _design(problem)
    keys = _row_keys(problem.X) if groups is None else groups
    folds = grouped_folds(keys, n_folds, seed)
    parts = [problem.triangle(fold.test) for fold in folds]
    factors = [joined(parts[:number] + parts[number + 1 :]) for number in range(len(folds))]
    together = _in_step(problem, joined(parts), factors)
    coefs: list[FloatArray] = []
    terms: list[tuple[int, ...]] = []

    def answer(fold: Fold) -> FloatArray:
        number = len(coefs)
        model, coef = together.get(number) or _alone(problem, factors[number])
        coefs.append(coef)
        terms.append(model)
        return evaluate_fixed_order(design[fold.test], coef)

    predicted = over_folds(folds, len(problem.y), answer)
    return FoldModels(predicted, fold_numbers(folds, len(problem.y)), np.array(coefs), tuple(terms))


def _alone(problem: SelectionProblem, factor: Triangle) -> tuple[tuple[int, ...], FloatArray]:
    model = problem.select(factor)
    return tuple(sorted(model)), _coefficients(problem, factor, model)


def _in_step(
    problem: SelectionProblem, whole: Triangle, factors: Sequence[Triangle]
) -> dict[int, tuple[tuple[int, ...], FloatArray]]:
    """Terms and coefficients of the folds that the lockstep engine can decide."""
    together = structure_of(problem, whole)
    if together is None:
        return {}
    terms, columns, structure = together
    picked = np.append(columns, factors[0].n_columns)
    every = len(columns) == factors[0].n_columns
    triangles = np.stack([factor.r if every else upper_factor(np.asfortranarray(factor.r[:, picked])) for factor in factors])
    scales, norms = np.stack([factor.scale for factor in factors]), np.stack([factor.norms[columns] for factor in factors])
    own = triangles[:, :-1, :-1]
    decided = (np.abs(np.einsum("ijj->ij", own)) > problem.tol * norms).all(axis=1)
    if not decided.all():
        return {}
    inverse = np.linalg.inv(own)
    side = triangles[:, :-1, -1] * scales[:, -1:]
    rss = np.square(triangles[:, -1, -1] * scales[:, -1])
    b = np.matmul(inverse, side[:, :, None])[:, :, 0]
    fits = Fits(np.matmul(inverse, inverse.transpose(0, 2, 1)), b, rss, np.zeros(b.shape, dtype=np.bool_), decided)
    n_samples = np.array([factor.n_samples for factor in factors])
    fits.select(structure, problem.criterion or default_criterion(whole), n_samples)
    coef = np.zeros((len(factors), factors[0].n_columns))
    coef[:, columns] = np.nan_to_num(fits.coefficients()) / scales[:, columns]
    models = [tuple(term for term, there in zip(terms, kept, strict=True) if there) for kept in fits.kept.tolist()]
    return dict(enumerate(zip(models, coef, strict=True)))


def joined(parts: Sequence[Triangle]) -> Triangle:
    """The triangle of the rows of several triangles of the same columns, without the rows.

    Parameters
    ----------
    parts : sequence of Triangle
        At least one.
    """
    scale = np.max([part.scale for part in parts], axis=0)
    # Scales are powers of two: changing from one to another loses no digit.
    stacked = np.vstack([part.r * (part.scale / scale) for part in parts])
    norms = np.sqrt(np.sum([np.square(part.norms * (part.scale / scale)) for part in parts], axis=0))
    n_samples, n_weighted = sum(part.n_samples for part in parts), sum(part.n_weighted for part in parts)
    return Triangle(
        upper_factor(np.asfortranarray(stacked)), scale, norms, parts[0].intercept, n_samples, n_weighted, parts[0].path
    )


def _coefficients(problem: SelectionProblem, factor: Triangle, model: Collection[int]) -> FloatArray:
    """Coefficients of a model over all columns of a triangle, in data units; 0 for columns not in it or aliased."""
    groups = column_groups(problem.assign)
    constant = np.zeros(int(problem.intercept), dtype=np.int64)
    fit = factor_columns(factor, np.concatenate([constant, *(groups[term] for term in model)]), problem.tol)
    coef = np.zeros(factor.n_columns)
    coef[fit.columns] = np.linalg.solve(fit.factor, fit.side) * factor.scale[-1] / factor.scale[fit.columns]
    return coef


def _design(problem: SelectionProblem) -> FloatArray:
    return np.hstack([np.ones((len(problem.y), 1)), problem.X]) if problem.intercept else problem.X


def _row_keys(X: FloatArray) -> FloatArray:
    """The same number for identical rows, and only for them but for a chance of 1e-10."""
    return evaluate_fixed_order(X, np.random.default_rng(0).random(X.shape[1]) + np.ones(X.shape[1]))
