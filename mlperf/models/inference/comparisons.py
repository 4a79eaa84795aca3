"""Every comparison that a selection made, as quadratics along the line on which one coefficient's estimate moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import lapack

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.models.algebra.aliasing import factor_columns
from mlperf.models.algebra.blockqr import upper_factor
from mlperf.models.algebra.triangle import Triangle
from mlperf.models.selection.criteria import Criterion, small_sample_correction
from mlperf.models.selection.search import Selection, Table

# Relative difference between a residual sum of squares here and as the selection recorded it.
RECORDED_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """The data in an orthonormal basis of all columns.

    Attributes
    ----------
    columns : array, shape (rank, n_columns)
        Columns of the triangle; aliased ones are zero outside the span of the others.
    response : array, shape (rank,)
    rss, df : float
        Residual sum of squares (of the scaled response) and degrees of freedom of the model with all columns.
    aliased : bool
        Whether any column is.
    """

    columns: FloatArray
    response: FloatArray
    rss: float
    df: float
    aliased: bool


def coordinates(triangle: Triangle, tol: float) -> Coordinates:
    """Coordinates of a triangle, its aliased columns (rule of R, tolerance ``tol``) put into the span of the others."""
    whole = factor_columns(triangle, np.arange(triangle.n_columns), tol)
    rank = len(whole.columns)
    order = np.concatenate([whole.columns, whole.aliased, [triangle.n_columns]])
    work = upper_factor(np.asfortranarray(triangle.r[:, order])) if len(whole.aliased) else triangle.r
    columns = np.empty((rank, triangle.n_columns))
    columns[:, order[:-1]] = work[:rank, :-1]
    rest = work[rank:, -1]
    return Coordinates(columns, work[:rank, -1], float(rest @ rest), float(triangle.n_weighted - rank), len(whole.aliased) > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """For each test the line response(t) = start + t * direction, on which only that test's estimate moves.

    Attributes
    ----------
    start, direction : array, shape (rank, n_tests)
        Directions of length one.
    observed : array, shape (n_tests,)
        Length t of the estimate's part of the response.
    """

    start: FloatArray
    direction: FloatArray
    observed: FloatArray


@lru_cache(maxsize=64)
def _upper(n: int) -> BoolArray:
    """Which elements of a square matrix are not below its diagonal."""
    return np.tri(n, dtype=np.bool_).T


class FittedModel:
    """One model in these coordinates: basis, triangle and inverse of its columns."""

    def __init__(self, data: Coordinates, columns: IntArray) -> None:
        self.columns = columns
        packed, tau, _, _ = lapack.dgeqrf(np.asfortranarray(data.columns[:, columns]))
        self.triangle = np.where(_upper(len(columns)), packed[: len(columns)], 0.0)
        self.basis = np.asarray(lapack.dorgqr(packed[:, : len(columns)], tau)[0])
        self.inverse = lapack.dtrtri(self.triangle)[0]
        self.position = {int(column): place for place, column in enumerate(columns)}

    def places(self, columns: IntArray) -> IntArray:
        """Positions of those columns that are in the model and not aliased."""
        return np.array([self.position[int(column)] for column in columns if int(column) in self.position], dtype=np.int64)

    def removed(self, places: IntArray) -> FloatArray:
        """Orthonormal basis of what the model loses without the columns at ``places``, shape (rank, n_places)."""
        if len(places) == 1:
            direction = self.basis @ self.inverse[places[0]]
            return np.asarray(direction / math.sqrt(direction @ direction))[:, None]
        return np.asarray(self.basis @ np.linalg.qr(self.inverse[places].T)[0])


def moving_lines(model: FittedModel, response: FloatArray, groups: Sequence[IntArray]) -> Lines:
    """Lines for groups of positions in the final model: the part of the response that is theirs alone, and the rest."""
    own = np.empty((len(response), len(groups)))
    for number, places in enumerate(groups):
        basis = model.removed(places)
        own[:, number] = basis @ (basis.T @ response)
    observed = np.sqrt(np.einsum("ij,ij->j", own, own))
    direction = own / np.where(observed > 0.0, observed, 1.0)
    return Lines(response[:, None] - own, direction, observed)


def quadratic(start: FloatArray, direction: FloatArray) -> FloatArray:
    """Coefficients of |start + t * direction|**2 summed over the first axis, shape (3, ...)."""
    coefficients = np.empty((3, *start.shape[1:]))
    np.add.reduce(start * start, axis=0, out=coefficients[0])
    np.multiply(2.0, np.add.reduce(start * direction, axis=0), out=coefficients[1])
    np.add.reduce(direction * direction, axis=0, out=coefficients[2])
    return coefficients


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """What is needed to write a selection's comparisons along test lines.

    Attributes
    ----------
    data : Coordinates
    lines : Lines
    groups : sequence of array of int
        Columns of each term id.
    triangle : Triangle
        Where ``data`` come from.
    full_rss : array, shape (3, n_tests)
        Coefficients in t of the residual sum of squares of the model with all columns.
    tol : float
        Of the rule for aliasing.
    """

    data: Coordinates
    lines: Lines
    groups: Sequence[IntArray]
    triangle: Triangle
    full_rss: FloatArray
    tol: float

    def quadratics(self, selection: Selection) -> FloatArray:
        """All comparisons as quadratics that are at most zero where they come out as they did.

        Parameters
        ----------
        selection : Selection
            With AIC, BIC, AICc, Cp or adjusted R2; any direction.

        Returns
        -------
        array, shape (3, n_comparisons, n_tests)

        Raises
        ------
        FitError
            The selection compared other columns: a factor was coded anew when another term left.
        """
        none = np.empty((3, 0, len(self.lines.observed)))
        parts = [self._of_table(table, selection.criterion) for table in selection.tables if table.shown]
        return np.concatenate([none, *parts], axis=1)

    def _of_table(self, table: Table, criterion: Criterion) -> FloatArray:
        model = fitted_model(self.data, self.triangle, self.groups, table.model, self.tol)
        start, direction = _outside(model.basis, self.lines.start), _outside(model.basis, self.lines.direction)
        unexplained = quadratic(start, direction)
        compared = np.flatnonzero(table.df > 0)
        whole = np.zeros((3, 1 + len(compared), len(self.lines.observed)))
        whole[:, 1:] = self._changes(model, start, direction, unexplained, table, compared)
        whole += (self.full_rss + unexplained)[:, None]
        self._check(whole, np.append(table.base.rss, table.rss[compared]) / self.triangle.rss_unit)
        edf = np.concatenate([[table.base.rank], table.base.rank + table.signs[compared] * table.df[compared]])
        winner = 0 if table.taken < 0 else 1 + int(np.flatnonzero(compared == table.taken)[0])
        factor, constant = _winning_margins(criterion, edf, winner, table.base.n, self.triangle.rss_unit)
        others = np.delete(np.arange(len(edf)), winner)
        result = factor[others][None, :, None] * whole[:, winner][:, None] - whole[:, others]
        result[0] -= constant[others][:, None]
        return result

    def _check(self, whole: FloatArray, recorded: FloatArray) -> None:
        """Raise where these columns do not give the residual sums of squares that the selection compared."""
        t = self.lines.observed[0]
        seen = whole[0, :, 0] + whole[1, :, 0] * t + whole[2, :, 0] * t * t
        if not (np.abs(seen - recorded) <= 1e-30 + RECORDED_TOLERANCE * np.abs(recorded)).all():
            raise FitError("the columns of a term depend on the other terms of the model", place="selective inference")

    def _changes(
        self,
        model: FittedModel,
        start: FloatArray,
        direction: FloatArray,
        unexplained: FloatArray,
        table: Table,
        compared: IntArray,
    ) -> FloatArray:
        """Coefficients of RSS(candidate) - RSS(model), shape (3, n_compared, n_tests)."""
        changes = np.empty((3, len(compared), len(self.lines.observed)))
        single = np.array([len(self.groups[term]) == 1 for term in table.terms[compared]], dtype=np.bool_)
        leaves = table.signs[compared] < 0
        plain = single & leaves & (not self.data.aliased)
        if plain.any():
            places = np.array([model.position[int(self.groups[term][0])] for term in table.terms[compared[plain]]])
            rows = model.inverse[places] / np.linalg.norm(model.inverse[places], axis=1)[:, None]
            changes[:, plain] = _products(rows @ (model.basis.T @ self.lines.start), rows @ (model.basis.T @ self.lines.direction))
        enters = single & ~leaves
        if enters.any():
            added = _outside(
                model.basis, self.data.columns[:, [int(self.groups[term][0]) for term in table.terms[compared[enters]]]]
            )
            added = added / np.linalg.norm(added, axis=0)
            changes[:, enters] = -_products(added.T @ start, added.T @ direction)
        for place in np.flatnonzero(~plain & ~enters):
            changes[:, place] = self._change(model, start, direction, unexplained, table, int(compared[place]))
        return changes

    def _change(
        self, model: FittedModel, start: FloatArray, direction: FloatArray, unexplained: FloatArray, table: Table, candidate: int
    ) -> FloatArray:
        term, df = int(table.terms[candidate]), int(table.df[candidate])
        if table.signs[candidate] > 0:
            span = np.linalg.svd(_outside(model.basis, self.data.columns[:, self.groups[term]]), full_matrices=False)[0][:, :df]
            return -quadratic(span.T @ start, span.T @ direction)
        if self.data.aliased:
            others = [other for other in table.model if other != term]
            rest = fitted_model(self.data, self.triangle, self.groups, others, self.tol).basis
            return quadratic(_outside(rest, self.lines.start), _outside(rest, self.lines.direction)) - unexplained
        span = model.removed(model.places(self.groups[term]))
        return quadratic(span.T @ self.lines.start, span.T @ self.lines.direction)


def fitted_model(
    data: Coordinates, triangle: Triangle, groups: Sequence[IntArray], terms: Sequence[int], tol: float
) -> FittedModel:
    """The model of some terms, aliased columns left out by R's rule."""
    constant = [np.zeros(1, dtype=np.int64)] if triangle.intercept else []
    columns = np.concatenate([np.empty(0, dtype=np.int64), *constant, *(groups[term] for term in terms)])
    return FittedModel(data, factor_columns(triangle, columns, tol).columns if data.aliased else columns)


def _winning_margins(criterion: Criterion, edf: FloatArray, winner: int, n: int, unit: float) -> tuple[FloatArray, FloatArray]:
    """Factor, constant, (n_models,): criterion[winner] <= criterion[other] is factor rss[winner] - rss[other] <= constant."""
    edf = np.asarray(edf, dtype=np.float64)
    if criterion.name == "adj_r2":
        return (n - edf) / (n - edf[winner]), np.zeros(len(edf))
    if criterion.scale > 0 and criterion.name != "aicc":
        return np.ones(len(edf)), criterion.scale * criterion.k * (edf - edf[winner]) / unit
    penalty = criterion.k * edf
    if criterion.name == "aicc":
        penalty = penalty + small_sample_correction(edf, n)
    return np.exp((penalty[winner] - penalty) / n), np.zeros(len(edf))


def _products(start: FloatArray, direction: FloatArray) -> FloatArray:
    """Coefficients of (start + t * direction)**2, element by element."""
    return np.stack([start * start, 2.0 * start * direction, direction * direction])


def _outside(basis: FloatArray, vectors: FloatArray) -> FloatArray:
    """Part of each column of ``vectors`` orthogonal to the basis."""
    return np.asarray(vectors - basis @ (basis.T @ vectors))
