"""Search on arrays: a whole grid with ``second_moment``, then with ``convolution`` what may win or cross a window's edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.searching.windows import MEAN, STALENESS, Window
from mlperf.systems.sprint import solve_iterations
from mlperf.systems.times import ComponentTimes, RunGrid

N_BEST = 50
EDGE_SHARE = 0.10
EDGE_EPOCH_FACTOR = 1.1
MOST_REFINED = 300

Objective = Callable[[FloatArray, RunGrid], FloatArray]
Epochs = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class SearchSolution(Shown):
    """A solved grid and its ranking; arrays of shape (n_configs,) unless said otherwise.

    Parameters
    ----------
    epoch_s, mean_minibatch_size, gpu_iteration_s, update_iteration_s : array
        Outputs by the form named in ``closed``.
    closed : array of str
        "convolution" for the rows solved twice, "second_moment" for the others.
    values : mapping of str to array
        By column of each window (`Window.column`), and ``mean_staleness`` where epochs depend on it.
    cost : array
        What the ranking minimises.
    in_window : array of bool
        Feasible, and every window holds.
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
    values: Mapping[str, FloatArray]
    cost: FloatArray
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
    also: Sequence[Window] = (),
    epochs: Epochs | None = None,
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
        ``objective(seconds, run)`` to minimise; the seconds by default.
    most_refined : int
        Upper limit of rows solved twice.
    also : sequence of Window, optional
        Further windows that must hold.
    epochs : callable, optional
        ``epochs(mean_minibatch_size, mean_staleness)``: the objective then gets the seconds of that many epochs, else of one.

    Returns
    -------
    SearchSolution

    Raises
    ------
    UsageError
        A window is empty or the grid has more than one axis.
    """
    windows = (Window(MEAN, *window), *also)
    n_configs = _checked_size(times, run)
    fits = np.ones(n_configs, dtype=bool) if feasible is None else np.asarray(feasible, dtype=bool)
    grid = _Grid(times, run, windows, objective or _epoch_itself, epochs)
    state = solve_iterations(times, run, "second_moment")
    gpu_s, update_s = state.gpu_iteration_s.copy(), state.update_iteration_s.copy()
    values = {one.column: one.grid_values(times, state, run) for one in grid.quantities}
    rows = _worth_refining(grid, grid.cost(gpu_s, values), values, fits)[:most_refined]
    if rows.size:
        again = solve_iterations(times.take(rows), run.take(rows), "convolution")
        gpu_s[rows], update_s[rows] = again.gpu_iteration_s, again.update_iteration_s
        for one in grid.quantities:
            values[one.column][rows] = one.exact_values(times.take(rows), again, run.take(rows))
    cost, in_window = grid.cost(gpu_s, values), grid.inside(values) & fits
    closed = np.full(n_configs, "second_moment")
    closed[rows] = "convolution"
    return SearchSolution(
        epoch_s=epoch_time(gpu_s, run),
        mean_minibatch_size=mean_minibatch_size(gpu_s, update_s, run),
        gpu_iteration_s=gpu_s,
        update_iteration_s=update_s,
        closed=closed,
        values=values,
        cost=cost,
        in_window=in_window,
        feasible=fits,
        order=_ranked(cost, run, in_window),
        n_refined=int(rows.size),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """What is asked of a grid: windows, objective, epochs."""

    times: ComponentTimes
    run: RunGrid
    windows: tuple[Window, ...]
    objective: Objective
    epochs: Epochs | None

    @property
    def quantities(self) -> tuple[Window, ...]:
        """One window of each quantity that is needed, an endless one for the staleness behind epochs."""
        wanted = {window.column: window for window in self.windows}
        if self.epochs is not None:
            wanted.setdefault(STALENESS, Window(STALENESS, 0.0, np.inf))
        return tuple(wanted.values())

    def cost(self, gpu_s: FloatArray, values: Mapping[str, FloatArray]) -> FloatArray:
        """The objective of every row."""
        seconds = epoch_time(gpu_s, self.run)
        if self.epochs is not None:
            seconds = seconds * self.epochs(values[MEAN], values[STALENESS])
        return self.objective(seconds, self.run)

    def inside(self, values: Mapping[str, FloatArray]) -> BoolArray:
        """Whether every window holds."""
        return np.asarray(np.logical_and.reduce([window.holds(values[window.column]) for window in self.windows]))

    def near_an_edge(self, values: Mapping[str, FloatArray]) -> BoolArray:
        """Whether a row lies near an edge of a window, and inside or near every other."""
        near = [window.near_edge(values[window.column], EDGE_SHARE) for window in self.windows]
        near_or_inside = [at_edge | one.holds(values[one.column]) for at_edge, one in zip(near, self.windows, strict=True)]
        return np.asarray(np.logical_or.reduce(near) & np.logical_and.reduce(near_or_inside))

    def miss(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """How far a row is from holding every window: the sum of logarithms of the missing ratios."""
        return np.asarray(np.sum([np.maximum(one.log_miss(values[one.column]), 0.0) for one in self.windows], axis=0))


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


def _checked_size(times: ComponentTimes, run: RunGrid) -> int:
    shape = np.broadcast_shapes(times.shape, run.shape)
    if len(run.shape) != 1 or shape != run.shape:
        shapes = f"times of shape {times.shape} and a run grid of shape {run.shape}"
        raise UsageError(f"got {shapes}, expected one row per configuration")
    return int(run.shape[0])


def _epoch_itself(seconds: FloatArray, _: RunGrid) -> FloatArray:
    return seconds


def _worth_refining(grid: _Grid, cost: FloatArray, values: Mapping[str, FloatArray], fits: BoolArray) -> IntArray:
    inside, run = fits & grid.inside(values), grid.run
    if not inside.any():
        rows = np.flatnonzero(fits)
        return np.asarray(rows[np.argsort(grid.miss(values)[rows], kind="stable")][:N_BEST])
    best = _ranked(cost, run, inside)[:N_BEST]
    edge_rows = _ranked(cost, run, grid.near_an_edge(values) & fits & (cost <= EDGE_EPOCH_FACTOR * cost[best[-1]]))
    neighbours = grid_neighbours(run, best)
    wanted = np.concatenate((best, neighbours[fits[neighbours]], edge_rows))
    _, first = np.unique(wanted, return_index=True)
    return np.asarray(wanted[np.sort(first)])


def _ranked(cost: FloatArray, run: RunGrid, mask: BoolArray) -> IntArray:
    rows = np.flatnonzero(mask)
    n_gpus = np.broadcast_to(run.n_gpus, run.shape)
    return np.asarray(rows[np.lexsort((n_gpus[rows], cost[rows]))])
