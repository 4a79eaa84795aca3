"""How far outside the convex hull of the measured points a query lies, as a factor of the hull's own size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, nnls
from scipy.spatial import ConvexHull, QhullError

from mlperf.core.arrays import BoolArray, FloatArray, IntArray, rounded
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.models.algebra.same_arrays import SameArrays

MAX_DIMENSIONS = 8
MAX_POINTS = 128
FACET_DIMENSIONS = 4
WIDE_RANGE = 100.0
RANK_TOLERANCE = 1e-9
INSIDE_QUANTILE = 0.985
N_FOLDS = 10
N_CALIBRATION = 400
N_CALIBRATION_PROGRAMS = 60
MAX_ROWS = 20_000
WORST_LIMIT = 10.0
ROUNDING_LIMIT = 1.0 + 1e-5
ROWS_A_PROGRAM = 50
ROWS_A_CHUNK = 4096
SLACK_COST = 1e6
WITHIN = 1.0 - 1e-6
DIGITS = 6


@dataclass(frozen=True, eq=False)
class Hull:
    """Convex hull of training rows in scaled columns and the factor up to which it may be blown up.

    Attributes
    ----------
    logarithmic : tuple of bool, shape (n_columns,)
        Columns taken as logarithms: positive and wider than a factor of 100.
    lower, width : array, shape (n_columns,)
        Each (logarithmic) column is scaled to (x - lower) / width, so that training rows lie in [0, 1].
    basis : array, shape (n_columns, n_dimensions)
        Orthonormal directions in which the training rows spread; columns tied to each other lose a dimension.
    points : array, shape (n_points, n_dimensions)
        Corners of the hull about the centre, in the basis, at most 128 of them, no duplicates.
    centre : array, shape (n_columns,)
        Mean of the scaled training rows.
    reach : array, shape (n_dimensions,)
        Blow-up that holds a unit step along each basis direction, either way; bounds the blow-up that a small step can cost.
    known_limit : float or None
        `limit` where it is known.
    rows : array, shape (n_rows, n_dimensions), or None
        Training rows about the centre, in the basis, from which the limit is learned; a stored hull has none.
    """

    logarithmic: tuple[bool, ...]
    lower: FloatArray
    width: FloatArray
    centre: FloatArray
    basis: FloatArray
    points: FloatArray
    reach: FloatArray
    known_limit: float | None = None
    rows: FloatArray | None = None

    @cached_property
    def limit(self) -> float:
        """Factor within which 98.5 % of left-out training rows lie, from `ROUNDING_LIMIT` to `WORST_LIMIT`.

        Learned on first use: leaving rows out takes longer than all else here, and models of folds are hardly ever asked.
        """
        if self.known_limit is not None:
            return self.known_limit
        return ROUNDING_LIMIT if self.rows is None else _limit(self.rows)

    @classmethod
    def fit(cls, values: FloatArray) -> Hull | None:
        """Hull of the rows; None where there are no columns, more than 8, or rows that do not spread.

        Parameters
        ----------
        values : array, shape (n_samples, n_columns)
            Numeric columns as measured.
        """
        if not 0 < values.shape[1] <= MAX_DIMENSIONS or len(values) < 3:
            return None
        return KNOWN((values,), lambda: cls._fit(values))

    @classmethod
    def _fit(cls, values: FloatArray) -> Hull | None:
        logarithmic = tuple(bool(column.min() > 0.0 and column.max() > WIDE_RANGE * column.min()) for column in values.T)
        logs = _logs(values, logarithmic)
        lower = logs.min(axis=0)
        width = np.where(np.ptp(logs, axis=0) > 0.0, np.ptp(logs, axis=0), 1.0)
        scaled = np.unique(_thinned((logs - lower) / width), axis=0)
        centre = scaled.mean(axis=0)
        _, sizes, directions = np.linalg.svd(scaled - centre, full_matrices=False)
        basis = directions[sizes > RANK_TOLERANCE * max(sizes[0], 1.0)].T
        if basis.shape[1] == 0:
            return None
        rows = (scaled - centre) @ basis
        points = corners(rows)
        steps = np.eye(basis.shape[1])
        reach = gauge(points, np.vstack([steps, -steps]), facets(points)).reshape(2, -1).max(axis=0)
        if not np.isfinite(reach).all():
            return None
        return cls(logarithmic, lower, width, centre, basis, points, rounded(reach, DIGITS) * 1.001, rows=rows)

    def factor(self, values: FloatArray) -> FloatArray:
        """Smallest blow-up of the hull about its centre that holds each row; inf off the plane of the training rows.

        Parameters
        ----------
        values : array, shape (n_rows, n_columns)
            Numeric columns in the units of the training rows.

        Returns
        -------
        array, shape (n_rows,)
            At most 1 inside, above 1 outside.
        """
        rows, on_plane = self._turned(values)
        result = np.full(len(values), np.inf)
        result[on_plane] = gauge(self.points, rows[on_plane], self._facets)
        return result

    def contains(self, values: FloatArray) -> BoolArray:
        """Whether each row, shape (n_rows, n_columns), lies inside the hull blown up by ``limit``; most rows need no program."""
        rows, inside = self._turned(values)
        open_rows = np.flatnonzero(inside)
        if self._facets is None:
            different, back = np.unique(rows[open_rows], axis=0, return_inverse=True)
            known = membership(self.points, different, self.limit, self.reach)[back.reshape(-1)]
            inside[open_rows] = known > 0
            open_rows = open_rows[known == 0]
        inside[open_rows] = self._within(gauge(self.points, rows[open_rows], self._facets))
        return inside

    def _within(self, factors: FloatArray) -> BoolArray:
        """Whether factors are at most `limit`, which is not learned for those that any limit holds, or none."""
        told_apart = (factors > ROUNDING_LIMIT) & (factors <= WORST_LIMIT)
        if self.known_limit is None and not told_apart.any():
            return np.asarray(factors <= ROUNDING_LIMIT)
        return np.asarray(factors <= self.limit)

    def _turned(self, values: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Rows in the basis, and whether they are finite and on the plane of the training rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shifted = (_logs(values, self.logarithmic) - self.lower) / self.width - self.centre
        finite = np.isfinite(shifted).all(axis=1)
        shifted[~finite] = 0.0
        rows = evaluate_rows(shifted, self.basis)
        off_plane = np.abs(shifted - evaluate_rows(rows, self.basis.T)).max(axis=1, initial=0.0) > 1e-6
        return rows, finite & ~off_plane

    @cached_property
    def _facets(self) -> FloatArray | None:
        return facets(self.points)

    def to_dict(self) -> dict[str, Any]:
        """Corners and scaling as JSON types."""
        return {
            "logarithmic": list(self.logarithmic),
            "lower": self.lower.tolist(),
            "width": self.width.tolist(),
            "centre": self.centre.tolist(),
            "basis": self.basis.tolist(),
            "points": self.points.tolist(),
            "limit": self.limit,
            "reach": self.reach.tolist(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Hull:
        """The hull that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            logarithmic = tuple(value is True for value in fields.items("logarithmic"))
            n_columns = len(logarithmic)
            n_dimensions = len(Fields({"row": (fields.items("basis", n_columns) or [[]])[0]}, f"{path}.basis[0]").items("row"))
            points = fields.matrix("points", None, n_dimensions)
            if len(points) <= n_dimensions:
                raise DataError(f"got {len(points)} corners, expected more than {n_dimensions}", place=f"{path}.points")
            return cls(
                logarithmic,
                fields.numbers("lower", n_columns),
                fields.numbers("width", n_columns, lower=0.0),
                fields.numbers("centre", n_columns),
                fields.matrix("basis", n_columns, n_dimensions),
                points,
                fields.numbers("reach", n_dimensions, lower=0.0),
                fields.number("limit", lower=1.0),
            )


KNOWN: SameArrays[Hull | None] = SameArrays(16)
"""Methods that are compared are fitted to the same rows of each fold, and all ask for the same hull and its limit."""


def corners(rows: FloatArray) -> FloatArray:
    """Corners of the convex hull of full-rank ``rows`` about the origin, thinned to 128 and rounded to six digits.

    Parameters
    ----------
    rows : array, shape (n_rows, n_dimensions)
        Centred, no duplicates.

    Returns
    -------
    array, shape (n_points, n_dimensions)
        Where the true hull has more corners, those that are extreme in a fixed set of directions.
    """
    if rows.shape[1] == 1:
        return np.array([[rows.min()], [rows.max()]])
    if rows.shape[1] <= FACET_DIMENSIONS and len(rows) > rows.shape[1] + 1:
        try:
            rows = rows[np.sort(ConvexHull(rows).vertices)]
        except QhullError:
            rows = np.unique(rows, axis=0)
    if len(rows) > MAX_POINTS:
        # Looked through along the rows of a copy: four times as fast as down the columns.
        reach = np.ascontiguousarray((rows @ _directions(rows.shape[1]).T).T)
        rows = rows[np.unique(np.argmax(reach, axis=1))][:MAX_POINTS]
    return np.round(rows, 6)


def facets(points: FloatArray) -> FloatArray | None:
    """Outward facet normals scaled so that the hull is {x: facets @ x <= 1}; None where linear programs are cheaper."""
    if points.shape[1] == 1:
        return np.array([[1.0 / points.max()], [1.0 / points.min()]]) if points.min() < 0.0 < points.max() else None
    if points.shape[1] > FACET_DIMENSIONS:
        return None
    try:
        planes = ConvexHull(points).equations
    except QhullError:
        return None
    return planes[:, :-1] / -planes[:, -1:] if (planes[:, -1] < 0.0).all() else None


def gauge(points: FloatArray, rows: FloatArray, planes: FloatArray | None) -> FloatArray:
    """Minkowski functional of the hull of ``points`` at each row: min sum(weights), weights >= 0, points' weights = row.

    Parameters
    ----------
    points : array, shape (n_points, n_dimensions)
        Corners; the origin is inside.
    rows : array, shape (n_rows, n_dimensions)
        Queries.
    planes : array, shape (n_facets, n_dimensions), or None
        Facets where they are known: the gauge is then one product; otherwise one linear program a row.

    Returns
    -------
    array, shape (n_rows,)
        inf where no blow-up reaches the row.
    """
    if planes is not None:
        chunks = (rows[start : start + ROWS_A_CHUNK] for start in range(0, len(rows), ROWS_A_CHUNK))
        return np.concatenate([np.empty(0), *(_farthest(chunk, planes) for chunk in chunks)])
    different, back = np.unique(rows, axis=0, return_inverse=True)
    parts = [_programs(points, different[start : start + ROWS_A_PROGRAM]) for start in range(0, len(different), ROWS_A_PROGRAM)]
    values: FloatArray = np.concatenate([np.empty(0), *parts])[back.reshape(-1)]
    return values


def membership(points: FloatArray, rows: FloatArray, limit: float, reach: FloatArray) -> IntArray:
    """Decide which rows lie inside the hull blown up by ``limit``, by non-negative least squares, one small problem a row.

    Weights of the corners that sum up to a little less than ``limit`` come as near to the row as they can. What is left of the way
    is either so short that the blow-up which it costs still fits, or a direction that separates the row from the hull. Both are
    proofs, whatever the solver's rounding.

    Parameters
    ----------
    points : array, shape (n_points, n_dimensions)
    rows : array, shape (n_rows, n_dimensions)
    limit : float
    reach : array, shape (n_dimensions,)
        See `Hull`.

    Returns
    -------
    array of int, shape (n_rows,)
        1 inside, -1 outside, 0 where neither is proven: within a millionth of the limit.

    References
    ----------
    Lawson and Hanson (1974), Solving least squares problems, chapter 23.
    """
    n_points, n_dimensions = points.shape
    # One more unknown takes what the weights leave of the limit.
    matrix = np.zeros((n_dimensions + 1, n_points + 1))
    matrix[:-1, :-1], matrix[-1] = points.T, 1.0
    known = np.zeros(len(rows), dtype=np.int64)
    for number, row in enumerate(rows):
        try:
            weights, _ = nnls(matrix, np.append(row, WITHIN * limit))
        except RuntimeError:  # too many iterations
            continue
        rest = row - points.T @ weights[:-1]
        if weights[:-1].sum() + np.abs(rest) @ reach <= limit:
            known[number] = 1
        elif rest @ row > limit * max((points @ rest).max(), 0.0) * (1.0 + 1e-9) + 1e-12:
            known[number] = -1
    return known


def evaluate_rows(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """``rows @ matrix``, columns added in order, without BLAS, shape (n_rows, n_columns)."""
    result = np.zeros((len(rows), matrix.shape[1]))
    for column, weights in zip(rows.T, matrix, strict=True):
        result += np.multiply.outer(column, weights)
    return result


def _farthest(rows: FloatArray, planes: FloatArray) -> FloatArray:
    """Largest of ``planes @ row`` for each row, not below 0; columns are added in order, without BLAS."""
    return np.asarray(evaluate_rows(rows, planes.T).max(axis=1, initial=0.0))


def _programs(points: FloatArray, rows: FloatArray) -> FloatArray:
    """Gauges of several rows by one linear program of independent blocks; slack marks a row that no blow-up reaches."""
    n_points, n_dimensions = points.shape
    block = np.hstack([points.T, np.eye(n_dimensions), -np.eye(n_dimensions)])
    costs = np.concatenate([np.ones(n_points), np.full(2 * n_dimensions, SLACK_COST)])
    blocks: Any = sparse.kron(sparse.eye(len(rows)), sparse.csr_matrix(block), format="csc")
    solution = linprog(
        np.tile(costs, len(rows)),
        A_eq=blocks,
        b_eq=rows.reshape(-1),
        bounds=(0.0, None),
        method="highs",
    )
    if solution.x is None:
        return np.full(len(rows), np.inf)
    weights = solution.x.reshape(len(rows), -1)
    reached = weights[:, n_points:].sum(axis=1) <= 1e-9
    return np.where(reached, weights[:, :n_points].sum(axis=1), np.inf)


def _limit(rows: FloatArray) -> float:
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    n_folds = min(N_FOLDS, len(rows) // (rows.shape[1] + 2))
    if n_folds < 2:
        return ROUNDING_LIMIT
    n_held = (N_CALIBRATION if rows.shape[1] <= FACET_DIMENSIONS else N_CALIBRATION_PROGRAMS) // n_folds
    factors = []
    for fold in range(n_folds):
        kept = rows[np.delete(order, np.s_[fold::n_folds])]
        centre = kept.mean(axis=0)
        points = corners(kept - centre)
        factors.append(gauge(points, rows[order[fold::n_folds][:n_held]] - centre, facets(points)))
    left_out = np.minimum(np.concatenate(factors), WORST_LIMIT)
    return float(max(ROUNDING_LIMIT, np.quantile(left_out, INSIDE_QUANTILE, method="higher")))


def _thinned(rows: FloatArray) -> FloatArray:
    """At most about 20,000 rows: every so-many-th and those that are extreme in the fixed directions."""
    if len(rows) <= MAX_ROWS:
        return rows
    extreme = np.argmax(rows @ _directions(rows.shape[1]).T, axis=0)
    return np.vstack([rows[:: -(-len(rows) // MAX_ROWS)], rows[extreme]])


def _logs(values: FloatArray, logarithmic: tuple[bool, ...]) -> FloatArray:
    logs = np.array(values, dtype=np.float64)
    chosen = np.array(logarithmic)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs[:, chosen] = np.log2(logs[:, chosen])
    return logs


def _directions(n_dimensions: int) -> FloatArray:
    drawn = np.random.default_rng(n_dimensions).standard_normal((MAX_POINTS - 2 * n_dimensions, n_dimensions))
    return np.vstack([np.eye(n_dimensions), -np.eye(n_dimensions), drawn])
