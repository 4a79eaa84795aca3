"""Search on arrays: a whole grid with ``second_moment``, then with the default form what may win or cross a window's edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray, distinct_rows
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.planning.search.windows import MEAN, STALENESS, Window
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.iterations import DEFAULT_FORM, GRID_FORM
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size

N_BEST = 50
EDGE_SHARE = 0.10
EDGE_EPOCH_FACTOR = 1.1
MOST_REFINED = 300
MOST_ROUNDS, SURE_ROWS = 6, 10
BIAS_LEVEL, LEAST_BIAS = 0.9, 1.001

Objective = Callable[[FloatArray, RunGrid], FloatArray]
Epochs = Callable[[FloatArray, FloatArray, IntArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class SearchSolution(Shown):
    """A solved grid and its ranking; arrays of shape (n_configs,) unless said otherwise.

    Parameters
    ----------
    epoch_s, mean_minibatch_size, gpu_iteration_s, update_iteration_s : array
        Outputs by the form named in ``closed``.
    closed : array of str
        The default form for the rows solved twice, ``second_moment`` for the others.
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
    them in this order. Where the objective grew by that, as one that depends on the mini-batch does, other rows are ranked with the
    same growth; up to six times, the best rows are refined until the ten best are.

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
        Upper limit of rows solved twice at first.
    also : sequence of Window, optional
        Further windows that must hold.
    epochs : callable, optional
        ``epochs(mean_minibatch_size, mean_staleness, subbatch_size)``: the objective then gets the seconds of that many
        epochs, else of one.

    Raises
    ------
    UsageError
        A window is empty or the grid has more than one axis.
    """
    windows = (Window(MEAN, *window), *also)
    n_configs = _checked_size(times, run)
    fits = np.ones(n_configs, dtype=bool) if feasible is None else np.asarray(feasible, dtype=bool)
    grid = _Grid(times, run, windows, objective or _epoch_itself, epochs)
    rows = _Rows.solved(grid)
    rows.refine(grid, _worth_refining(grid, rows.cost, rows.values, fits)[:most_refined])
    for _ in range(MOST_ROUNDS):
        in_window = grid.inside(rows.values) & fits
        best = _ranked(rows.expected_cost, run, in_window)[:N_BEST]
        if rows.is_refined[best[:SURE_ROWS]].all():
            break
        rows.refine(grid, best[~rows.is_refined[best]])
    in_window = grid.inside(rows.values) & fits
    return SearchSolution(
        epoch_s=epoch_time(rows.gpu_s, run),
        mean_minibatch_size=mean_minibatch_size(rows.gpu_s, rows.update_s, run),
        gpu_iteration_s=rows.gpu_s,
        update_iteration_s=rows.update_s,
        closed=np.where(rows.is_refined, DEFAULT_FORM, GRID_FORM),
        values=rows.values,
        cost=rows.cost,
        in_window=in_window,
        feasible=fits,
        order=_ranked(rows.expected_cost, run, in_window),
        n_refined=int(np.count_nonzero(rows.is_refined)),
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

    def cost(self, gpu_s: FloatArray, values: Mapping[str, FloatArray], run: RunGrid | None = None) -> FloatArray:
        """The objective of every row, or of the rows whose run is given."""
        run = self.run if run is None else run
        seconds = epoch_time(gpu_s, run)
        if self.epochs is not None:
            seconds = seconds * self.epochs(values[MEAN], values[STALENESS], run.subbatch_size)
        return np.asarray(self.objective(seconds, run))

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


@dataclass(slots=True, eq=False)
class _Rows:
    """The solved rows, some of them refined; ``bias`` is how much the objective grew where rows were refined."""

    gpu_s: FloatArray
    update_s: FloatArray
    values: dict[str, FloatArray]
    cost: FloatArray
    is_refined: BoolArray
    bias: float = 1.0

    @classmethod
    def solved(cls, grid: _Grid) -> _Rows:
        """Every row by `GRID_FORM`."""
        state = solve_iterations(grid.times, grid.run, GRID_FORM)
        values = {one.column: one.grid_values(grid.times, state, grid.run) for one in grid.quantities}
        gpu_s, update_s = state.gpu_iteration_s.copy(), state.update_iteration_s.copy()
        return cls(gpu_s, update_s, values, grid.cost(gpu_s, values).copy(), np.zeros(gpu_s.shape, dtype=bool))

    @property
    def expected_cost(self) -> FloatArray:
        """The objective; of rows that were not refined with the growth that refinement showed."""
        return self.cost if self.bias == 1.0 else np.where(self.is_refined, self.cost, self.bias * self.cost)

    def refine(self, grid: _Grid, rows: IntArray) -> None:
        """Solve ``rows`` again by the default form."""
        if not rows.size:
            return
        times, run, before = grid.times.take(rows), grid.run.take(rows), self.cost[rows]
        state = solve_iterations(times, run)
        self.gpu_s[rows], self.update_s[rows] = state.gpu_iteration_s, state.update_iteration_s
        for one in grid.quantities:
            self.values[one.column][rows] = one.exact_values(times, state, run)
        found = {one.column: self.values[one.column][rows] for one in grid.quantities}
        self.cost[rows] = grid.cost(self.gpu_s[rows], found, run)
        self.is_refined[rows] = True
        growth = float(np.quantile(self.cost[rows] / before, BIAS_LEVEL))
        self.bias = max(self.bias, growth if growth > LEAST_BIAS else 1.0)


def pareto_front(cost: FloatArray, n_gpus: IntArray, rows: IntArray) -> IntArray:
    """The rows that no other of ``rows`` beats in cost with at most as many GPUs; by increasing GPUs, of equal ones the first."""
    if not rows.size:
        return rows
    own_cost, own_gpus = cost[rows], n_gpus[rows]
    # A row a number of GPUs at most: sorting all rows of a large grid would take longer than anything else here.
    number, first = distinct_rows(own_gpus)
    least = np.full(first.size, np.inf)
    np.minimum.at(least, number, own_cost)
    by_gpus = np.argsort(own_gpus[first])
    before = np.concatenate(([np.nan], np.minimum.accumulate(least[by_gpus])[:-1]))
    least[by_gpus[least[by_gpus] >= before]] = np.nan
    kept = np.flatnonzero(own_cost == least[number])
    kept = kept[np.unique(number[kept], return_index=True)[1]]
    return np.asarray(rows[kept[np.argsort(own_gpus[kept])]])


def least_rows(cost: FloatArray, rows: IntArray, n: int) -> IntArray:
    """The ``n`` of ``rows`` that cost least, the least first and of equal ones the earlier; the others are not sorted."""
    if len(rows) > n:
        rows = rows[cost[rows] <= np.partition(cost[rows], n - 1)[n - 1]]
    return np.asarray(rows[np.argsort(cost[rows], kind="stable")][:n])


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
