"""Nearest measured rows in log2 sizes, and the two things a local model does with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from mlperf.core.arrays import BoolArray, FloatArray, IntArray

BATCH_ROWS = 2048
SEPARATION = 32.0
"""Octaves between two values of a two-valued column or a factor: neighbours are of the same kind first."""
NEAREST_OCTAVES = 1e-6
"""Distances count from here, so that a row measured before answers for itself and nothing divides by zero."""


@dataclass(frozen=True, slots=True, eq=False)
class SizeScale:
    """How each column becomes an axis of the neighbour search.

    Parameters
    ----------
    logarithmic : array, shape (n_columns,)
        Whether log2 of the column is taken: all its training values were positive and there were more than two of them.
    centre, factor : arrays, shape (n_columns,)
        The axis is (value - centre) * factor; 0 and 1 for logarithmic columns.
    floor : array, shape (n_columns,)
        Smallest value a logarithm is taken of, 1/1024 of the smallest training value.
    """

    logarithmic: BoolArray
    centre: FloatArray
    factor: FloatArray
    floor: FloatArray

    @classmethod
    def fit(cls, sizes: FloatArray) -> SizeScale:
        """Choose the axes from training sizes, shape (n_rows, n_columns)."""
        smallest, spread = sizes.min(axis=0), np.ptp(sizes, axis=0)
        two_valued = np.array([len(np.unique(column)) <= 2 for column in sizes.T])
        logarithmic = (smallest > 0) & ~two_valued
        deviation = np.where(sizes.std(axis=0) > 0, sizes.std(axis=0), 1.0)
        factor = np.where(two_valued, SEPARATION / np.where(spread > 0, spread, 1.0), 1.0 / deviation)
        factor = np.where(logarithmic, 1.0, factor)
        centre = np.where(logarithmic, 0.0, np.where(two_valued, smallest, sizes.mean(axis=0)))
        return cls(logarithmic, centre, factor, np.where(logarithmic, smallest / 1024.0, 0.0))

    def axes(self, sizes: FloatArray) -> FloatArray:
        """Coordinates in octaves, shape (n_rows, n_columns)."""
        logs = np.log2(np.where(self.logarithmic, np.maximum(sizes, self.floor), 1.0))
        return np.where(self.logarithmic, logs, (sizes - self.centre) * self.factor)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The k nearest rows of each query: ``index`` and ``distance`` (octaves), shape (n_queries, k)."""

    index: IntArray
    distance: FloatArray


def nearest(tree: cKDTree, points: FloatArray, k: int) -> Neighbours:
    """Look up the k nearest rows of a tree; fewer where the tree has fewer."""
    distance, index = tree.query(points, k=range(1, min(k, tree.n) + 1))
    return Neighbours(np.asarray(index, dtype=np.int64), np.asarray(distance, dtype=np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What a local fit is pulled to: the global coefficients ``coef`` (n_terms,) of terms divided by ``scale`` (n_terms,).

    ``scale`` is the size of a term's relative contribution, see `relative_scale`.
    """

    coef: FloatArray
    scale: FloatArray


def local_linear(
    design: FloatArray, y: FloatArray, near: Neighbours, query: FloatArray, *, prior: Prior, ridge: float, clip: tuple[float, float]
) -> FloatArray:
    """Fit one small linear model around every query and evaluate it there.

    Parameters
    ----------
    design, y : arrays, shapes (n_rows, n_terms) and (n_rows,)
        Terms and positive times of the measured rows.
    near : Neighbours
        Which rows each query learns from.
    query : array, shape (n_queries, n_terms)
        Terms of the queries.
    prior : Prior
        Coefficients that the ridge pulls to.
    ridge : float
        Added to the diagonal, as a share of its mean.
    clip : tuple of float
        The answer stays within these factors of the smallest and the largest neighbour.

    Returns
    -------
    array, shape (n_queries,)
        Unit of ``y``.

    Notes
    -----
    Residuals are relative: rows are divided by y, so the weights are 1/y**2.
    """
    answers = np.empty(len(query))
    low, high = clip
    for start in range(0, len(query), BATCH_ROWS):
        rows = slice(start, start + BATCH_ROWS)
        index = near.index[rows]
        times = y[index]
        local = _batch_linear(design[index] / prior.scale, times, query[rows] / prior.scale, prior.coef, ridge)
        answers[rows] = np.clip(local, times.min(axis=1) * low, times.max(axis=1) * high)
    return answers


def _batch_linear(neighbours: FloatArray, times: FloatArray, query: FloatArray, start: FloatArray, ridge: float) -> FloatArray:
    relative = neighbours / times[..., None]
    gram = relative.transpose(0, 2, 1) @ relative
    left = 1.0 - relative @ start
    diagonal = np.einsum("qii->qi", gram)
    diagonal += ridge * diagonal.mean(axis=1, keepdims=True) + np.finfo(float).tiny
    change = np.linalg.solve(gram, (relative.transpose(0, 2, 1) @ left[..., None]))[..., 0]
    return np.asarray((query * (start + change)).sum(axis=1))


def relative_scale(design: FloatArray, y: FloatArray) -> FloatArray:
    """Root mean square of each term over y, shape (n_terms,): what the term is worth in relative residuals; 1 for a zero column."""
    size = np.sqrt(np.mean((design / y[:, None]) ** 2, axis=0))
    return np.where(size > 0, size, 1.0)


def mean_log_ratio(log_ratio: FloatArray, near: Neighbours) -> FloatArray:
    """Distance-weighted mean of log(measured / global) over the neighbours, shape (n_queries,)."""
    weights = 1.0 / (near.distance + NEAREST_OCTAVES)
    return np.asarray((weights * log_ratio[near.index]).sum(axis=1) / weights.sum(axis=1))
