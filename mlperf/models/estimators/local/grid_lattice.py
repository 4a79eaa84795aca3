"""One measured lattice of matrix sizes: where a query lies in it, its trilinear time, its form in a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields

DIMENSIONS = ("m", "n", "k")
MOST_NODES = 10**7
CORNERS = np.array(list(product((0, 1), repeat=3)), dtype=np.int64)
MAX_WIDENING = 2
"""How many nodes a cell with an unmeasured corner may grow by on each of its six sides."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Times on the product of three axes of sizes, NaN where a node was not measured.

    Parameters
    ----------
    axes : tuple of three arrays
        Sizes really measured (rounded powers of sqrt(2)), ascending, of m, n and k.
    time_s : array, shape (len(m), len(n), len(k))
        Seconds of each node: the median or mean over its repeats.
    run_std_s : array, same shape
        Standard deviation of one repeat, seconds; NaN with fewer than two repeats.
    n_repeats : array, same shape
        Repeats behind each node, 0 where unmeasured.
    """

    axes: tuple[FloatArray, FloatArray, FloatArray]
    time_s: FloatArray
    run_std_s: FloatArray
    n_repeats: IntArray

    @cached_property
    def measured(self) -> BoolArray:
        """Which nodes have a time, shape of ``time_s``."""
        return np.isfinite(self.time_s)

    @property
    def n_nodes(self) -> int:
        """Nodes with a time."""
        return int(self.measured.sum())

    def node_sizes(self) -> IntArray:
        """Indices of the measured nodes, shape (n_nodes, 3), in the order of ``time_s[measured]``."""
        return np.argwhere(self.measured)

    @cached_property
    def boxes(self) -> tuple[IntArray, IntArray, BoolArray]:
        """Lowest and highest node of the box that answers for each cell, and whether one was found.

        Shapes (n_cells_m, n_cells_n, n_cells_k, 3) twice and without the last axis: the cell itself where its eight corners are
        measured, otherwise the next larger box that contains it and is complete.
        """
        return _complete_boxes(self.measured)

    def cell_of(self, sizes: FloatArray) -> IntArray:
        """Indices of the lower node of the cell of each query, clamped to the lattice; shape (n_queries, 3).

        Finding the cell between rounded powers is the same in sizes as in their logs.
        """
        cells = [
            np.clip(np.searchsorted(axis, sizes[:, d], side="right") - 1, 0, max(len(axis) - 2, 0))
            for d, axis in enumerate(self.axes)
        ]
        return np.stack(cells, axis=1).astype(np.int64)

    def outside(self, sizes: FloatArray) -> BoolArray:
        """Whether each size of each query leaves its axis, shape (n_queries, 3)."""
        return np.stack([(sizes[:, d] < axis[0]) | (sizes[:, d] > axis[-1]) for d, axis in enumerate(self.axes)], axis=1)

    def clamped(self, sizes: FloatArray) -> FloatArray:
        """The nearest sizes inside the lattice, shape (n_queries, 3)."""
        return np.stack([np.clip(sizes[:, d], axis[0], axis[-1]) for d, axis in enumerate(self.axes)], axis=1)

    def fractions(self, sizes: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
        """Position of each query between two nodes, linear in the size itself, shape (n_queries, 3); 0 on an axis of one node."""
        parts = []
        for d, axis in enumerate(self.axes):
            start = axis[low[:, d]]
            width = axis[high[:, d]] - start
            parts.append(np.divide(sizes[:, d] - start, width, out=np.zeros(len(sizes)), where=width > 0))
        return np.stack(parts, axis=1)

    def corner_values(self, table: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
        """Values of a table of nodes at the eight corners of each box, shape (8, n_queries), in the order of ``CORNERS``."""
        i, j, p = (np.stack([low[:, d], high[:, d]]) for d in range(3))
        return np.stack([table[i[a], j[b], p[c]] for a, b, c in CORNERS])


def corner_weights(fractions: FloatArray) -> FloatArray:
    """Trilinear weights of the eight corners, shape (8, n_queries), summing to 1.

    Parameters
    ----------
    fractions : array, shape (n_queries, 3)
        Position in the box along m, n and k: 0 at the low node, 1 at the high one, beyond them when extrapolating.

    References
    ----------
    Oyama et al. (SPRINT), eq. 6: the linear model in {mnk, mn, mk, nk, m, n, k, 1} through eight corners *is* this interpolation.
    """
    sides = np.stack([1.0 - fractions, fractions])
    return np.stack([sides[a, :, 0] * sides[b, :, 1] * sides[c, :, 2] for a, b, c in CORNERS])


def build_lattice(sizes: IntArray, time_s: FloatArray, *, node_value: str = "median") -> Lattice:
    """Gather repeats at equal sizes into a lattice.

    Parameters
    ----------
    sizes : array, shape (n_rows, 3)
        m, n, k of each measurement, >= 1.
    time_s : array, shape (n_rows,)
        Seconds, > 0.
    node_value : {"median", "mean"}
        What stands for the repeats of a node; the paper takes the mean.

    Raises
    ------
    DataError
        No rows, or a size or time that is not positive and finite.
    """
    if len(sizes) == 0:
        raise DataError("got no rows, expected measured sizes", hint="A grid needs at least one node per flag pair.")
    if np.any(sizes < 1) or not np.all(np.isfinite(time_s)) or np.any(time_s <= 0):
        row = int(np.flatnonzero((sizes < 1).any(axis=1) | ~(time_s > 0) | ~np.isfinite(time_s))[0])
        raise DataError(
            f"got sizes {sizes[row].tolist()} and {float(time_s[row])!r} s, expected sizes >= 1 and seconds > 0",
            place=f"row {row + 1}",
        )
    axes, places = zip(*(np.unique(sizes[:, d], return_inverse=True) for d in range(3)), strict=True)
    shape = tuple(len(axis) for axis in axes)
    node = np.ravel_multi_index(places, shape)
    order = np.argsort(node, kind="stable")
    nodes, first, counts = np.unique(node[order], return_index=True, return_counts=True)
    ordered, centre = time_s[order], np.median if node_value == "median" else np.mean
    tables = [np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)]
    for count in np.unique(counts):
        alike = counts == count
        repeats = ordered[first[alike, None] + np.arange(count)]
        tables[0].flat[nodes[alike]] = centre(repeats, axis=1)
        tables[1].flat[nodes[alike]] = repeats.std(axis=1, ddof=1) if count > 1 else np.nan
        tables[2].flat[nodes[alike]] = count
    m, n, k = (axis.astype(float) for axis in axes)
    return Lattice((m, n, k), tables[0], tables[1], tables[2].astype(np.int64))


@lru_cache(maxsize=1)
def _widenings() -> tuple[tuple[int, ...], ...]:
    """Ways to grow a cell by up to ``MAX_WIDENING`` nodes on each side, smallest total first."""
    return tuple(sorted(product(range(MAX_WIDENING + 1), repeat=6), key=lambda w: (sum(w), max(w), w)))


def _complete_boxes(measured: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    shape = np.array(measured.shape)
    cells = tuple(np.maximum(shape - 1, 1).tolist())
    start = np.stack(np.meshgrid(*(np.arange(c) for c in cells), indexing="ij"), axis=-1)
    low, high = start.copy(), np.minimum(start + 1, shape - 1)
    found = np.zeros(cells, dtype=bool)
    # The eight corners of a box are pairs of ends along m, of pairs along n, of pairs along k: the first two are shared.
    pairs_m = {w: _both_ends(measured, 0, *w) for w in product(range(MAX_WIDENING + 1), repeat=2)}
    faces = {(w, v): _both_ends(pair, 1, *v) for w, pair in pairs_m.items() for v in pairs_m}
    left = _some_upper_end(measured)
    for widening in _widenings():
        if not left.any():
            break
        down, up = widening[:3], widening[3:]
        complete = _both_ends(faces[(down[0], up[0]), (down[1], up[1])], 2, down[2], up[2]) & left
        if complete.any():
            low[complete] = np.maximum(start[complete] - np.array(down), 0)
            high[complete] = np.minimum(start[complete] + 1 + np.array(up), shape - 1)
            found |= complete
            left &= ~complete
    return low, high, found


def _some_upper_end(measured: BoolArray) -> BoolArray:
    """Whether a box around each cell can be complete: the highest corner of at least one was measured."""
    found = measured
    for axis, size in enumerate(measured.shape):
        cells = np.arange(max(size - 1, 1))
        ends = [found.take(np.minimum(cells + 1 + up, size - 1), axis) for up in range(MAX_WIDENING + 1)]
        found = np.logical_or.reduce(ends)
    return found


def _both_ends(measured: BoolArray, axis: int, down: int, up: int) -> BoolArray:
    """Whether both ends of each cell along one axis are measured, the cell grown by ``down`` and ``up`` nodes."""
    size = measured.shape[axis]
    cells = np.arange(max(size - 1, 1))
    lower, upper = np.maximum(cells - down, 0), np.minimum(cells + 1 + up, size - 1)
    return np.asarray(measured.take(lower, axis) & measured.take(upper, axis))


def lattice_to_dict(lattice: Lattice) -> dict[str, Any]:
    """Axes, flat numbers of the measured nodes, their times, scatter and repeats."""
    nodes = lattice.node_sizes()
    place = tuple(nodes.T)
    return {
        **{d: axis.astype(int).tolist() for d, axis in zip(DIMENSIONS, lattice.axes, strict=True)},
        "node": np.ravel_multi_index(place, lattice.time_s.shape).tolist(),
        "time_s": lattice.time_s[place].tolist(),
        "run_std_s": [None if np.isnan(value) else value for value in lattice.run_std_s[place].tolist()],
        "n_repeats": lattice.n_repeats[place].tolist(),
    }


def lattice_from_dict(fields: Fields) -> Lattice:
    """Read back `lattice_to_dict`; DataError with the JSON path of what is wrong."""
    with fields:
        axes = tuple(fields.numbers(d, lower=1.0) for d in DIMENSIONS)
        shape = tuple(len(axis) for axis in axes)
        if not 0 < prod(shape) <= MOST_NODES:
            raise DataError(f"got {prod(shape):,} nodes, expected 1 to {MOST_NODES:,}", place=fields.path)
        nodes = np.array(fields.integers("node", upper=prod(shape) - 1), dtype=np.int64)
        tables = [np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)]
        tables[0].flat[nodes] = fields.times("time_s", len(nodes))
        tables[1].flat[nodes] = [np.nan if value is None else float(value) for value in fields.items("run_std_s", len(nodes))]
        tables[2].flat[nodes] = fields.integers("n_repeats", len(nodes))
    m, n, k = axes
    if any(np.any(np.diff(axis) <= 0) for axis in axes):
        raise DataError("got an axis that is not ascending", place=fields.path)
    return Lattice((m, n, k), tables[0], tables[1], tables[2].astype(np.int64))
