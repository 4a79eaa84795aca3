"""Search on arrays: a whole grid with ``second_moment``, then with ``convolution`` what may win or cross the window's edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.sprint import solve_iterations
from mlperf.systems.times import ComponentTimes, RunGrid

N_BEST = 50
EDGE_SHARE = 0.10
EDGE_EPOCH_FACTOR = 1.1
MOST_REFINED = 300

Objective = Callable[[FloatArray, RunGrid], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class SearchSolution(Shown):
    """A solved grid and its ranking; arrays of shape (n_configs,) unless said otherwise.

    Parameters
    ----------
    epoch_s, mean_minibatch_size, gpu_iteration_s, update_iteration_s : array
        Outputs by the form named in ``closed``.
    closed : array of str
        "convolution" for the rows solved twice, "second_moment" for the others.
    in_window : array of bool
        Feasible, and the mean mini-batch size lies in the window.
    feasible : array of bool
        As given (device memory).
    order : array of int, shape (n_in_window,)
        Rows in the window by objective (epoch time unless another was given), ties by fewer GPUs.
    n_refined : int
        Rows solved twice.
    """

    epoch_s: FloatArray
    mean_minibatch_size: FloatArray
    gpu_iteration_s: FloatArray
    update_iteration_s: FloatArray
    closed: np.ndarray
    in_window: BoolArray
    feasible: BoolArray
    order: IntArray
    n_refined: int


def solve_search(
    times: ComponentTimes,
    run: RunGrid,
    window: tuple[float, float],
    *,
    feasible: BoolArray | None = None,
    objective: Objective | None = None,
    most_refined: int = MOST_REFINED,
) -> SearchSolution:
    """Solve the grid, refine what matters, rank what lies in the window.

    Refined are the 50 best rows in the window (of all feasible rows nearest to it when it is empty), their neighbours in the
    grid, and the rows within 10 % of an edge whose objective is at most 1.1 times that of the 50th; the first ``most_refined`` of
    them in this order.

    Parameters
    ----------
    times, run
        Shape (n_configs,) together.
    window : (float, float)
        Smallest and largest mean mini-batch size, samples.
    feasible : array of bool, shape (n_configs,), optional
        Rows that fit the device; all by default.
    objective : callable, optional
        ``objective(epoch_s, run)`` to minimise; epoch time by default.
    most_refined : int
        Upper limit of rows solved twice.

    Returns
    -------
    SearchSolution

    Raises
    ------
    UsageError
        The window is empty or the grid has more than one axis.
    """
    n_configs = _checked_size(times, run, window)
    fits = np.ones(n_configs, dtype=bool) if feasible is None else np.asarray(feasible, dtype=bool)
    cost_of = objective or _epoch_itself
    state = solve_iterations(times, run, "second_moment")
    gpu_s, update_s = state.gpu_iteration_s.copy(), state.update_iteration_s.copy()
    size, cost = mean_minibatch_size(gpu_s, update_s, run), cost_of(epoch_time(gpu_s, run), run)
    rows = _worth_refining(cost, size, fits, window, run)[:most_refined]
    if rows.size:
        again = solve_iterations(times.take(rows), run.take(rows), "convolution")
        gpu_s[rows], update_s[rows] = again.gpu_iteration_s, again.update_iteration_s
    epoch_s, size = epoch_time(gpu_s, run), mean_minibatch_size(gpu_s, update_s, run)
    in_window = fits & (size >= window[0]) & (size <= window[1])
    closed = np.full(n_configs, "second_moment")
    closed[rows] = "convolution"
    order = _ranked(cost_of(epoch_s, run), run, in_window)
    return SearchSolution(epoch_s, size, gpu_s, update_s, closed, in_window, fits, order, int(rows.size))


def pareto_front(cost: FloatArray, n_gpus: IntArray, rows: IntArray) -> IntArray:
    """The rows that no other of ``rows`` beats in cost with at most as many GPUs; by increasing GPUs."""
    by_gpus = rows[np.lexsort((cost[rows], n_gpus[rows]))]
    least = np.minimum.accumulate(cost[by_gpus])
    first = np.concatenate(([True], cost[by_gpus][1:] < least[:-1])) if by_gpus.size else np.zeros(0, dtype=bool)
    return np.asarray(by_gpus[first])


def grid_neighbours(run: RunGrid, rows: IntArray) -> IntArray:
    """Rows one grid step away from ``rows`` in nodes, GPUs per node or sub-batch size, in the order of ``rows``."""
    shape = run.shape
    axes = [np.broadcast_to(axis, shape) for axis in (run.n_nodes, run.n_gpus_per_node, run.subbatch_size)]
    places, lengths = [], []
    for axis in axes:
        levels, place = np.unique(axis, return_inverse=True)
        places.append(place.reshape(shape))
        lengths.append(levels.size)
    key_of = np.ravel_multi_index(places, lengths)
    by_key = np.argsort(key_of, kind="stable")
    found = []
    for moving, length in enumerate(lengths):
        for step in (-1, 1):
            moved = [places[i][rows] + (step if i == moving else 0) for i in range(len(places))]
            inside = (moved[moving] >= 0) & (moved[moving] < length)
            wanted = np.ravel_multi_index([np.where(inside, level, 0) for level in moved], lengths)
            at = np.minimum(np.searchsorted(key_of, wanted, sorter=by_key), by_key.size - 1)
            neighbour = by_key[at]
            found.append(np.where(inside & (key_of[neighbour] == wanted), neighbour, -1))
    every = np.stack(found, axis=1).ravel()
    return np.asarray(every[every >= 0])


def _checked_size(times: ComponentTimes, run: RunGrid, window: tuple[float, float]) -> int:
    shape = np.broadcast_shapes(times.shape, run.shape)
    if len(run.shape) != 1 or shape != run.shape:
        shapes = f"times of shape {times.shape} and a run grid of shape {run.shape}"
        raise UsageError(f"got {shapes}, expected one row per configuration")
    if not 0.0 <= window[0] <= window[1]:
        raise UsageError(f"got mini-batch window {window[0]}:{window[1]}, expected 0 <= low <= high")
    return int(run.shape[0])


def _epoch_itself(epoch_s: FloatArray, _: RunGrid) -> FloatArray:
    return epoch_s


def _worth_refining(cost: FloatArray, size: FloatArray, fits: BoolArray, window: tuple[float, float], run: RunGrid) -> IntArray:
    inside = fits & (size >= window[0]) & (size <= window[1])
    if not inside.any():
        return _nearest(size, fits, window)
    best = _ranked(cost, run, inside)[:N_BEST]
    near = np.zeros(size.shape, dtype=bool)
    for edge in filter(np.isfinite, window):
        near |= np.abs(size - edge) <= EDGE_SHARE * edge
    edge_rows = _ranked(cost, run, near & fits & (cost <= EDGE_EPOCH_FACTOR * cost[best[-1]]))
    neighbours = grid_neighbours(run, best)
    wanted = np.concatenate((best, neighbours[fits[neighbours]], edge_rows))
    _, first = np.unique(wanted, return_index=True)
    return np.asarray(wanted[np.sort(first)])


def _nearest(size: FloatArray, fits: BoolArray, window: tuple[float, float]) -> IntArray:
    """The feasible rows nearest to an empty window, by the ratio that is missing."""
    miss = np.log(np.maximum(window[0] / size, size / max(window[1], np.finfo(float).tiny)))
    rows = np.flatnonzero(fits)
    return np.asarray(rows[np.argsort(miss[rows], kind="stable")][:N_BEST])


def _ranked(cost: FloatArray, run: RunGrid, mask: BoolArray) -> IntArray:
    rows = np.flatnonzero(mask)
    n_gpus = np.broadcast_to(run.n_gpus, run.shape)
    return np.asarray(rows[np.lexsort((n_gpus[rows], cost[rows]))])
