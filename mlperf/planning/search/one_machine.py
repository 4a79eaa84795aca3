"""One search on one machine: solve, refine, rank, and draw the candidates from the models' uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, DomainError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.component_times import PredictedTimes, draw_times, predict_times
from mlperf.planning.run_prediction import refuse_outside
from mlperf.planning.search.draws import Drawn, drawn_candidates, first_share, rank_bounds, rank_stability
from mlperf.planning.search.objectives import epochs_of, objective_column, objective_of, priced, target_columns
from mlperf.planning.search.result import SearchResult
from mlperf.planning.search.search_grid import SearchSolution, pareto_front, solve_search
from mlperf.planning.search.windows import MEAN, QUANTILE, STALENESS, Window
from mlperf.specs.kernels.memory import max_subbatch_size
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.minibatch import minibatch_std
from mlperf.systems.sprint.staleness import mean_staleness
from mlperf.training.gradient.gradient import PREDICTOR
from mlperf.training.model import Model
from mlperf.training.quality import QualityModel

N_DRAWS = 200
N_CANDIDATES = 50
MOST_DRAWN = 300
NEAREST_MISSES = 5
LEVEL = 0.95
SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")
LAST = (
    "cost",
    "energy_j",
    "window_probability",
    "first_share",
    "rank_low",
    "rank_high",
    "in_domain",
    "quality_in_domain",
    "closed",
)
NOT_RANKED = ("in_window", "feasible")


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a search was asked for; the parameters of `mlperf.search_runs`."""

    window: tuple[float, float]
    window_quantile: float | None = None
    max_staleness: float | None = None
    objective: str = "epoch_s"
    quality: QualityModel | None = None
    min_probability: float = 0.0
    top: int = 10
    method: str = PREDICTOR
    factors: Mapping[str, float] = field(default_factory=dict)
    ignore_memory: bool = False
    seed: int = 0
    strict: bool = False

    @property
    def mean_window(self) -> tuple[float, float]:
        """Window of the mean; endless where the window bounds a quantile."""
        return self.window if self.window_quantile is None else (0.0, float("inf"))

    @property
    def also(self) -> tuple[Window, ...]:
        """Windows beside that of the mean."""
        quantile = () if self.window_quantile is None else (Window(QUANTILE, *self.window, self.window_quantile),)
        age = () if self.max_staleness is None else (Window(STALENESS, 0.0, self.max_staleness),)
        return (*quantile, *age)


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """A search and what a ranking over several machines needs of it: its candidates in order, drawn and with their objective."""

    result: SearchResult
    candidates: pd.DataFrame
    drawn: Drawn


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """A model, what it is asked about, and the mean times of every row."""

    model: Model
    cnn: CnnSpec
    machine: MachineSpec
    asked: Asked
    configs: pd.DataFrame
    predicted: PredictedTimes
    times: ComponentTimes
    run: RunGrid


def search_once(model: Model, cnn: CnnSpec, machine: MachineSpec, asked: Asked, configs: pd.DataFrame) -> Searched:
    """Search ``configs`` on one machine; see `search_runs`."""
    predicted = predict_times(model, [cnn], machine, configs, asked.method)
    problem = _Problem(model, cnn, machine, asked, configs, predicted, predicted.times.scaled(asked.factors), _run(configs))
    largest = largest_subbatch(cnn, machine, ignore_memory=asked.ignore_memory)
    solution = solve_search(
        problem.times,
        problem.run,
        asked.mean_window,
        feasible=(configs["subbatch_size"] <= largest).to_numpy(bool),
        objective=objective_of(asked.objective, machine),
        also=asked.also,
        epochs=epochs_of(asked.objective, asked.quality),
    )
    table = _grid_table(problem, solution)
    rows, drawn, epoch_interval = _sure_enough(problem, solution)
    chosen = rows[: asked.top]
    _refuse(problem, chosen)
    candidates = _detailed(problem, table, rows, epoch_interval)
    candidates = candidates.assign(window_probability=drawn.window_probability, first_share=first_share(drawn))
    low, high = rank_bounds(drawn)
    best = candidates.assign(rank=np.arange(1, len(rows) + 1), rank_low=low, rank_high=high).iloc[: len(chosen)]
    column = objective_column(asked.objective)
    front = pareto_front(solution.cost, problem.run.n_gpus, rows if asked.min_probability else solution.order)
    result = SearchResult(
        cnn=cnn.name,
        machine=machine.name,
        window=(float(asked.window[0]), float(asked.window[1])),
        objective=asked.objective,
        best=in_order(best),
        misses=_nearest_misses(table, solution, (Window(MEAN, *asked.mean_window), *asked.also))
        if not len(chosen)
        else table.iloc[:0],
        pareto=table.iloc[front].reset_index(drop=True),
        grid=table,
        n_refined=solution.n_refined,
        assumed=tuple(name for name, source in predicted.source.items() if source != "measured"),
        window_quantile=asked.window_quantile,
        max_staleness=asked.max_staleness,
        min_probability=asked.min_probability,
        target_accuracy=None if asked.quality is None else asked.quality.target_accuracy,
        stability=rank_stability(drawn, candidates[column].to_numpy(float)) if len(rows) else None,
    )
    return Searched(result, candidates, drawn)


def in_order(best: pd.DataFrame) -> pd.DataFrame:
    """Rank and sizes first, prices, probabilities and flags last."""
    first = ["rank", *(name for name in ("machine",) if name in best.columns), *SIZES]
    last = [name for name in LAST if name in best.columns]
    middle = [name for name in best.columns if name not in (*first, *last, *NOT_RANKED)]
    return best[[*first, *middle, *last]].reset_index(drop=True)


def largest_subbatch(cnn: CnnSpec, machine: MachineSpec, *, ignore_memory: bool) -> int:
    """The largest sub-batch that fits a device; DataError where not even one sample does."""
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


def _grid_table(problem: _Problem, solution: SearchSolution) -> pd.DataFrame:
    configs, asked = problem.configs, problem.asked
    extra = {name: value for name, value in solution.values.items() if name != MEAN}
    if asked.objective == "time_to_target":
        extra[objective_column(asked.objective)] = solution.cost
    return (
        configs[list(SIZES)]
        .assign(
            epoch_s=solution.epoch_s,
            mean_minibatch_size=solution.mean_minibatch_size,
            **extra,
            **priced(solution.epoch_s, configs["n_nodes"].to_numpy(int), problem.machine),
            in_window=solution.in_window,
            feasible=solution.feasible,
            in_domain=np.logical_and.reduce(list(problem.predicted.in_domain.values())),
            closed=solution.closed,
        )
        .reset_index(drop=True)
    )


def _refuse(problem: _Problem, chosen: IntArray) -> None:
    """With ``strict``, raise DomainError for a chosen row outside the measured domain."""
    if problem.asked.strict and len(chosen):
        inside: dict[str, BoolArray] = {name: flag[chosen] for name, flag in problem.predicted.in_domain.items()}
        refuse_outside(inside, problem.configs.iloc[chosen], [problem.cnn])


def _sure_enough(problem: _Problem, solution: SearchSolution) -> tuple[IntArray, Drawn, Interval]:
    """The candidates, best first, whose windows hold with the probability asked for; their draws and intervals of T_Epoch."""
    asked = problem.asked
    rows = solution.order[: max(asked.top, MOST_DRAWN if asked.min_probability else N_CANDIDATES)]
    drawn, interval = _draw(problem, rows)
    sure = np.flatnonzero(drawn.window_probability >= asked.min_probability)[: max(asked.top, N_CANDIDATES)]
    kept = Drawn(drawn.cost[:, sure], drawn.holds[:, sure])
    return rows[sure], kept, Interval(interval.lower[sure], interval.upper[sure], interval.level)


def _draw(problem: _Problem, rows: IntArray) -> tuple[Drawn, Interval]:
    """Joint draws of the candidates, and the interval of their T_Epoch that they give."""
    asked = problem.asked
    if not len(rows):
        return Drawn(np.zeros((N_DRAWS, 0)), np.zeros((N_DRAWS, 0), bool)), Interval(np.zeros(0), np.zeros(0), LEVEL)
    rng, configs = np.random.default_rng(asked.seed), problem.configs.iloc[rows]
    times = draw_times(
        problem.model, [problem.cnn], problem.machine, configs, kind="mean", n_draws=N_DRAWS, rng=rng, method=asked.method
    ).scaled(asked.factors)
    means, run = problem.times.take(rows), problem.run.take(rows)
    windows = (Window(MEAN, *asked.mean_window), *asked.also)
    in_seconds = drawn_candidates(times, means, run, windows, cost_of=lambda seconds, _: seconds)
    low, high = np.quantile(in_seconds.cost, (0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)), axis=0)
    cost_of, epochs = objective_of(asked.objective, problem.machine), epochs_of(asked.objective, asked.quality)
    if cost_of is None and epochs is None:
        return in_seconds, Interval(low, high, LEVEL)
    drawn = drawn_candidates(times, means, run, windows, cost_of=cost_of or (lambda seconds, _: seconds), epochs=epochs)
    return drawn, Interval(low, high, LEVEL)


def _detailed(problem: _Problem, table: pd.DataFrame, rows: IntArray, epoch_interval: Interval) -> pd.DataFrame:
    """The candidates with the spread of their mini-batch, their staleness and, where asked, the way to the target."""
    times, run, quality = problem.times.take(rows), problem.run.take(rows), problem.asked.quality
    spread: FloatArray = np.zeros(0)
    age: FloatArray = np.zeros(0)
    if len(rows):
        state = solve_iterations(times, run, "convolution")
        spread, age = minibatch_std(times, state, run), mean_staleness(times, state, run)
    found = table.iloc[rows].assign(minibatch_std=spread, mean_staleness=age)
    if quality is None or not len(rows):
        return found
    columns = target_columns(found, quality, epoch_interval)
    if problem.asked.strict and not columns["quality_in_domain"].iloc[: problem.asked.top].all():
        raise DomainError(
            "a ranked row's mini-batch and staleness lie outside what the learning runs covered",
            place=f"CNN {problem.cnn.name!r}",
            hint="Drop --strict and read quality_in_domain.",
        )
    return found.assign(**{name: columns[name] for name in columns.columns})


def _nearest_misses(table: pd.DataFrame, solution: SearchSolution, windows: Sequence[Window]) -> pd.DataFrame:
    miss = np.sum([np.maximum(window.log_miss(solution.values[window.column]), 0.0) for window in windows], axis=0)
    distance = np.where(solution.feasible, miss, np.inf)
    nearest: pd.DataFrame = table.iloc[np.argsort(distance, kind="stable")[:NEAREST_MISSES]].reset_index(drop=True)
    return nearest
