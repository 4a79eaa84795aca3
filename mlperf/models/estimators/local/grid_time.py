"""What a lattice says about queries: seconds, scatter, and why a query is outside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DomainError
from mlperf.models.estimators.local.grid_lattice import DIMENSIONS, Lattice, corner_weights
from mlperf.models.estimators.local.neighbours import mean_log_ratio, nearest

N_NEIGHBOURS = 8


def corner_time(lattice: Lattice, sizes: FloatArray) -> FloatArray:
    """Operations over the rate of the nearest measured nodes, shape (n_queries,), seconds.

    The distance-weighted mean of log(time / mnk) over the eight nearest nodes in log2 sizes: unmeasured corners are the largest
    products, where the rate of operations hardly changes.
    """
    nodes = lattice.node_sizes()
    measured = np.stack([lattice.axes[d][nodes[:, d]] for d in range(3)], axis=1)
    log_cost = np.log(lattice.time_s[tuple(nodes.T)] / measured.prod(axis=1))
    near = nearest(cKDTree(np.log2(measured)), np.log2(sizes), N_NEIGHBOURS)
    return np.asarray(sizes.prod(axis=1) * np.exp(mean_log_ratio(log_cost, near)))


LOWEST_SHARE = 0.25
"""An extrapolated time never falls below this share of the cell's smallest corner."""


def gemm_terms(sizes: FloatArray) -> FloatArray:
    """The eight terms {mnk, mn, mk, nk, m, n, k, 1} of (m, n, k), shape (n_rows, 8)."""
    m, n, k = sizes.T
    return np.stack([m * n * k, m * n, m * k, n * k, m, n, k, np.ones_like(m)], axis=1)


def lattice_time(lattice: Lattice, sizes: FloatArray, outside: str) -> FloatArray:
    """Seconds on one lattice, shape (n_queries,): trilinear inside, ``outside`` beyond it, near nodes without corners."""
    beyond = lattice.outside(sizes)
    leaves = beyond.any(axis=1)
    if outside == "error" and leaves.any():
        _refuse(lattice, sizes, beyond)
    inside = lattice.clamped(sizes) if outside == "rate" else sizes
    low, high, found = boxes_of(lattice, inside)
    answers = _interpolate(lattice, inside, low, high)
    if outside == "rate":
        answers = np.where(leaves, answers * sizes.prod(axis=1) / inside.prod(axis=1), answers)
    elif leaves.any():
        smallest = lattice.corner_values(lattice.time_s, low[leaves], high[leaves]).min(axis=0)
        answers[leaves] = np.maximum(answers[leaves], LOWEST_SHARE * smallest)
    if not found.all():
        answers[~found] = corner_time(lattice, sizes[~found])
    return answers


def _interpolate(lattice: Lattice, sizes: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    weights = corner_weights(lattice.fractions(sizes, low, high))
    return np.asarray(np.einsum("cq,cq->q", weights, lattice.corner_values(lattice.time_s, low, high)))


def boxes_of(lattice: Lattice, sizes: FloatArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Lowest and highest node of the box that answers for each query, shape (n_queries, 3), and whether there is one."""
    cell = tuple(lattice.cell_of(sizes).T)
    low, high, found = lattice.boxes
    return low[cell], high[cell], found[cell]


def _refuse(lattice: Lattice, sizes: FloatArray, beyond: BoolArray) -> None:
    row, d = (int(i) for i in np.argwhere(beyond)[0])
    axis = lattice.axes[d]
    raise DomainError(
        f"got {DIMENSIONS[d]} = {sizes[row, d]:g}, expected {axis[0]:g} to {axis[-1]:g}",
        place=f"query {row}",
        hint="Measure a larger grid, or allow extrapolation with outside='trilinear' or 'rate'.",
    )


def domain_reasons(lattice: Lattice, sizes: FloatArray) -> NDArray[np.object_]:
    """Names of the sizes outside their axes, ``"corner"`` for a cell with an unmeasured corner, ``""`` inside."""
    beyond = lattice.outside(sizes)
    code = beyond @ np.array([1, 2, 4])
    names = [", ".join(name for d, name in enumerate(DIMENSIONS) if number >> d & 1) for number in range(8)]
    reasons = np.array(names, dtype=object)[code]
    low, high, found = boxes_of(lattice, sizes)
    grown = ~found | (low != lattice.cell_of(sizes)).any(axis=1) | (high != _own_high(lattice, sizes)).any(axis=1)
    reasons[grown & (code == 0)] = "corner"
    return np.asarray(reasons)


def _own_high(lattice: Lattice, sizes: FloatArray) -> IntArray:
    last = np.array([len(axis) - 1 for axis in lattice.axes])
    return np.asarray(np.minimum(lattice.cell_of(sizes) + 1, last))


def lattice_node_error(lattice: Lattice, sizes: FloatArray, node_value: str, kind: str) -> FloatArray:
    """Relative error of interpolated times from the scatter of repeats, shape (n_queries,); see `GridLocal.node_error`."""
    relative = lattice.run_std_s / lattice.time_s
    typical = float(np.nanmedian(relative)) if np.isfinite(relative).any() else 0.0
    run = np.where(np.isfinite(relative), relative, typical) * np.where(lattice.measured, lattice.time_s, 0.0)
    # The median of r normal values scatters sqrt(pi / 2) times as much as their mean; of one or two it is the mean.
    spread = np.where((lattice.n_repeats > 2) & (node_value == "median"), np.sqrt(np.pi / 2.0), 1.0)
    inside = lattice.clamped(sizes)
    low, high, _ = boxes_of(lattice, inside)
    weights = corner_weights(lattice.fractions(inside, low, high))
    seconds = np.where(lattice.measured, lattice.time_s, np.nanmin(lattice.time_s))
    node = lattice.corner_values(spread * run / np.sqrt(np.maximum(lattice.n_repeats, 1)), low, high)
    value = (weights * lattice.corner_values(seconds, low, high)).sum(axis=0)
    error = np.sqrt(((weights * node) ** 2).sum(axis=0)) / value
    if kind == "run":
        error = np.hypot(error, (weights * lattice.corner_values(run, low, high)).sum(axis=0) / value)
    return np.asarray(error)


def n_incomplete(lattice: Lattice) -> int:
    """Number of cells with an unmeasured corner."""
    low, high, found = lattice.boxes
    cells = np.stack(np.meshgrid(*(np.arange(s) for s in found.shape), indexing="ij"), axis=-1)
    last = np.array([len(axis) - 1 for axis in lattice.axes])
    return int((~found | (low != cells).any(axis=-1) | (high != np.minimum(cells + 1, last)).any(axis=-1)).sum())


def without_shell(lattice: Lattice) -> tuple[Lattice, FloatArray, FloatArray]:
    """The lattice less the last node of every axis, and sizes and seconds of the measured nodes taken away."""
    cut = tuple(max(len(axis) - 1, 1) for axis in lattice.axes)
    kept = tuple(slice(0, c) for c in cut)
    m, n, k = (axis[:c] for axis, c in zip(lattice.axes, cut, strict=True))
    inner = Lattice((m, n, k), lattice.time_s[kept], lattice.run_std_s[kept], lattice.n_repeats[kept])
    nodes = lattice.node_sizes()
    hidden = nodes[(nodes >= np.array(cut)).any(axis=1)]
    sizes = np.stack([lattice.axes[d][hidden[:, d]] for d in range(3)], axis=1)
    return inner, sizes, lattice.time_s[tuple(hidden.T)]


def median_ratio(numerator: Lattice, denominator: Lattice) -> float:
    """Median ratio of times on the nodes that two lattices share; 1 without any."""
    both = [np.intersect1d(a, b, return_indices=True)[1:] for a, b in zip(numerator.axes, denominator.axes, strict=True)]
    top = numerator.time_s[np.ix_(*(own for own, _ in both))]
    bottom = denominator.time_s[np.ix_(*(other for _, other in both))]
    ratio = (top / bottom)[np.isfinite(top / bottom)]
    return float(np.median(ratio)) if len(ratio) else 1.0
