"""`mlperf.search_runs`: the fastest configuration whose mean mini-batch size lies in a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown
from mlperf.specs.cnn import CnnSpec
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.memory import max_subbatch_size
from mlperf.systems.component_times import draw_times, predict_times
from mlperf.systems.gradient import PREDICTOR
from mlperf.systems.model import Model
from mlperf.systems.outputs import mean_minibatch_size
from mlperf.systems.predict import configurations
from mlperf.systems.run_prediction import refuse_outside
from mlperf.systems.search_grid import Objective, SearchSolution, pareto_front, solve_search
from mlperf.systems.sprint import solve_iterations
from mlperf.systems.times import RunGrid

LARGEST_SUBBATCH = 32
N_DRAWS = 200
OBJECTIVES = ("epoch_s", "cost", "energy_j")
NEAREST_MISSES = 5


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult(Shown):
    """A ranking of configurations.

    Attributes
    ----------
    cnn, machine : str
        Names.
    window : tuple of float
        Smallest and largest mean mini-batch size, samples per update.
    objective : str
        What the ranking minimises: ``epoch_s`` (seconds), ``cost`` (of an epoch, in the machine's currency) or ``energy_j``.
    best : DataFrame
        The ``top`` best rows inside the window: ``rank, n_nodes, n_gpus_per_node, subbatch_size, epoch_s, mean_minibatch_size,
        cost, energy_j, window_probability, in_domain, closed``.
    misses : DataFrame
        Where ``best`` is empty: the rows nearest to the window.
    pareto : DataFrame
        Rows inside the window that no other beats in the objective with at most as many GPUs.
    grid : DataFrame
        Every configuration: sizes, ``epoch_s, mean_minibatch_size, in_window, feasible, closed``.
    n_refined : int
        Rows solved with the convolution form as well.
    assumed : tuple of str
        Components taken from the machine's specification.
    """

    cnn: str
    machine: str
    window: tuple[float, float]
    objective: str
    best: pd.DataFrame
    misses: pd.DataFrame
    pareto: pd.DataFrame
    grid: pd.DataFrame
    n_refined: int
    assumed: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Everything but the grid, of which only the size is told."""
        from mlperf.core.shown import plain

        shown = {name: plain(getattr(self, name)) for name in self.__slots__ if name != "grid"}
        return {**shown, "n_configs": len(self.grid)}

    def to_frame(self) -> pd.DataFrame:
        """The ranking; the nearest misses where nothing lies in the window."""
        return self.best if len(self.best) else self.misses


def search_runs(
    model: Model,
    cnn: CnnSpec,
    machine: MachineSpec,
    job: JobSpec,
    *,
    n_nodes: Sequence[int] | None = None,
    n_gpus_per_node: Sequence[int] | int | None = None,
    subbatch_size: Sequence[int] | None = None,
    minibatch: tuple[float, float] | None = None,
    objective: str = "epoch_s",
    top: int = 10,
    method: str = PREDICTOR,
    factors: Mapping[str, float] | None = None,
    ignore_memory: bool = False,
    seed: int = 0,
    strict: bool = False,
) -> SearchResult:
    """Sweep nodes x GPUs x sub-batch and rank what lies in the window.

    The whole grid is solved with the ``second_moment`` form; the best rows, their neighbours and rows near the window's edges again
    with ``convolution`` (see `mlperf.systems.search_grid.solve_search`).

    Parameters
    ----------
    model : Model
        From `mlperf.train`.
    cnn, machine, job
        What to run, on what, with how many samples.
    n_nodes : sequence of int, optional
        Default 1 to the machine's ``max_nodes``.
    n_gpus_per_node : int or sequence of int, optional
        Default the machine's.
    subbatch_size : sequence of int, optional
        Default 1 to what fits the device's memory, at most 32.
    minibatch : (float, float), optional
        Window of the mean mini-batch size, samples per update; default the job's, else none.
    objective : {"epoch_s", "cost", "energy_j"}
        What to minimise. Cost needs ``price_per_node_hour``, energy ``power_w``.
    top : int
        Rows of the ranking.
    method, factors
        As in `mlperf.predict_epoch`.
    ignore_memory : bool
        Rank rows that do not fit the device as well.
    seed : int
        Of the draws behind ``window_probability``.
    strict : bool
        Refuse a ranking with a row outside the measured domain.

    Raises
    ------
    DataError
        A component or kernel has no model, or the objective needs a figure the machine lacks.
    UsageError
        Unknown objective or empty window.
    DomainError
        With ``strict``.

    References
    ----------
    Oyama et al. (SPRINT), section 4.3.
    """
    window = minibatch or job.minibatch or (0.0, float("inf"))
    largest = _largest_subbatch(cnn, machine, ignore_memory)
    configs = configurations(
        [0],
        range(1, machine.max_nodes + 1) if n_nodes is None else n_nodes,
        machine.n_gpus_per_node if n_gpus_per_node is None else n_gpus_per_node,
        range(1, min(largest, LARGEST_SUBBATCH) + 1) if subbatch_size is None else subbatch_size,
        job.dataset_size,
    )
    predicted = predict_times(model, [cnn], machine, configs, method)
    times, run = predicted.times.scaled(factors or {}), _run(configs)
    feasible = (configs["subbatch_size"] <= largest).to_numpy(bool)
    solution = solve_search(times, run, window, feasible=feasible, objective=_objective(objective, machine))
    inside = np.logical_and.reduce(list(predicted.in_domain.values()))
    table = _grid_table(configs, solution, machine, inside)
    chosen = solution.order[:top]
    if strict and len(chosen):
        refuse_outside({name: flag[chosen] for name, flag in predicted.in_domain.items()}, configs.iloc[chosen], [cnn])
    best = table.iloc[chosen].assign(
        rank=np.arange(1, len(chosen) + 1),
        window_probability=_window_probability(model, cnn, machine, configs.iloc[chosen], window, method, factors, seed),
    )
    front = pareto_front(table[objective].to_numpy(float), run.n_gpus, solution.order)
    return SearchResult(
        cnn=cnn.name,
        machine=machine.name,
        window=(float(window[0]), float(window[1])),
        objective=objective,
        best=best[["rank", *RANKED]].reset_index(drop=True),
        misses=_nearest_misses(table, window) if not len(chosen) else table.iloc[:0],
        pareto=table.iloc[front].reset_index(drop=True),
        grid=table,
        n_refined=solution.n_refined,
        assumed=tuple(name for name, source in predicted.source.items() if source != "measured"),
    )


SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")
RANKED = (*SIZES, "epoch_s", "mean_minibatch_size", "cost", "energy_j", "window_probability", "in_domain", "closed")


def _largest_subbatch(cnn: CnnSpec, machine: MachineSpec, ignore_memory: bool) -> int:
    if ignore_memory or machine.device_memory_bytes is None:
        return np.iinfo(np.int32).max
    largest = max_subbatch_size(cnn, machine.device_memory_bytes)
    if largest < 1:
        raise DataError(
            f"CNN {cnn.name!r} does not fit {machine.device_memory_bytes / 2**30:.1f} GiB with one sample",
            place=f"machine {machine.name!r}, device_memory_bytes",
            hint="--ignore-memory searches nevertheless.",
        )
    return largest


def _run(configs: pd.DataFrame) -> RunGrid:
    return RunGrid(*(configs[name].to_numpy(int) for name in (*SIZES, "dataset_size")))


def _objective(name: str, machine: MachineSpec) -> Objective | None:
    if name not in OBJECTIVES:
        raise UsageError(f"got objective {name!r}, expected one of {', '.join(OBJECTIVES)}")
    needed = {"cost": "price_per_node_hour", "energy_j": "power_w"}.get(name)
    if needed is None:
        return None
    if getattr(machine, needed) is None:
        raise DataError(f"got no {needed}, which the objective {name!r} needs", place=f"machine {machine.name!r}")
    return lambda epoch_s, run: _priced(epoch_s, run.n_nodes, machine)[name]


def _priced(epoch_s: FloatArray, n_nodes: IntArray, machine: MachineSpec) -> dict[str, FloatArray]:
    """Cost (the machine's currency) and energy (joules) of an epoch; NaN where the machine's figure is unknown."""
    node_s = epoch_s * n_nodes
    price, power = machine.price_per_node_hour, machine.power_w
    return {
        "cost": node_s / 3600.0 * (np.nan if price is None else price),
        "energy_j": node_s * (np.nan if power is None else power),
    }


def _grid_table(configs: pd.DataFrame, solution: SearchSolution, machine: MachineSpec, inside: BoolArray) -> pd.DataFrame:
    return (
        configs[list(SIZES)]
        .assign(
            epoch_s=solution.epoch_s,
            mean_minibatch_size=solution.mean_minibatch_size,
            **_priced(solution.epoch_s, configs["n_nodes"].to_numpy(int), machine),
            in_window=solution.in_window,
            feasible=solution.feasible,
            in_domain=inside,
            closed=solution.closed,
        )
        .reset_index(drop=True)
    )


def _window_probability(
    model: Model,
    cnn: CnnSpec,
    machine: MachineSpec,
    configs: pd.DataFrame,
    window: tuple[float, float],
    method: str,
    factors: Mapping[str, float] | None,
    seed: int,
) -> FloatArray:
    """Share of joint draws of the component models whose mean mini-batch size lies in the window, shape (n_rows,)."""
    if not len(configs):
        return np.zeros(0)
    rng = np.random.default_rng(seed)
    drawn = draw_times(model, [cnn], machine, configs, kind="mean", n_draws=N_DRAWS, rng=rng, method=method).scaled(factors or {})
    run = _run(configs)
    state = solve_iterations(drawn, run, "second_moment")
    size = mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)
    return np.asarray(((size >= window[0]) & (size <= window[1])).mean(axis=0))


def _nearest_misses(table: pd.DataFrame, window: tuple[float, float]) -> pd.DataFrame:
    size = table["mean_minibatch_size"].to_numpy(float)
    distance = np.where(table["feasible"], np.maximum(window[0] / size, size / window[1]), np.inf)
    nearest: pd.DataFrame = table.iloc[np.argsort(distance, kind="stable")[:NEAREST_MISSES]].reset_index(drop=True)
    return nearest
