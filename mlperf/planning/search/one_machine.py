"""One search on one machine: solve, refine, rank, and draw the candidates from the models' uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError, DomainError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.component_times import ASSUMED, RUNS, PredictedTimes, draw_times, predict_times
from mlperf.planning.inputs import ConfigurationInputs, configuration_inputs
from mlperf.planning.outside import refuse_outside
from mlperf.planning.predict import outside_means
from mlperf.planning.search.draws import CandidateDraws, draw_candidates, first_share, left_out_strays, rank_bounds, rank_stability
from mlperf.planning.search.objectives import epochs_of, objective_column, objective_of, priced, target_columns
from mlperf.planning.search.options import SearchOptions
from mlperf.planning.search.result import SearchResult
from mlperf.planning.search.search_grid import SearchSolution, pareto_front, solve_search
from mlperf.planning.search.windows import MEAN, Window
from mlperf.specs.kernels.memory import max_subbatch_size
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.minibatch import minibatch_std
from mlperf.systems.sprint.outputs import mean_minibatch_size
from mlperf.systems.sprint.staleness import mean_staleness
from mlperf.training.elsewhere import model_on
from mlperf.training.model import Model

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
class MachineRanking:
    """A search and what a ranking over several machines needs of it: its candidates in order, with their draws and their inputs."""

    result: SearchResult
    candidates: pd.DataFrame
    draws: CandidateDraws
    inputs: ConfigurationInputs


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """A model, what it is asked about, and the mean times of every row."""

    model: Model
    options: SearchOptions
    inputs: ConfigurationInputs
    predicted: PredictedTimes
    times: ComponentTimes
    run: RunGrid

    @property
    def cnn(self) -> CnnSpec:
        """The network."""
        return self.inputs.cnns[0]


def search_once(model: Model, cnn: CnnSpec, machine: MachineSpec, options: SearchOptions, configs: pd.DataFrame) -> MachineRanking:
    """Search ``configs`` on one machine; see `search_runs`."""
    model = model_on(model, machine)
    problem = _problem(model, configuration_inputs(model, [cnn], machine, configs, options.optimizer), options)
    solution = _solution(problem)
    table = _grid_table(problem, solution)
    rows, draws, epoch_interval = _sure_enough(problem, solution)
    if options.strict and len(rows):
        refuse_outside(model, problem.inputs, problem.predicted, rows[: options.top])
    candidates = _detailed(problem, table, rows, epoch_interval)
    candidates = candidates.assign(window_probability=draws.window_probability, first_share=first_share(draws))
    return MachineRanking(_result(problem, solution, table, rows, candidates, draws), candidates, draws, problem.inputs.take(rows))


def _problem(model: Model, inputs: ConfigurationInputs, options: SearchOptions) -> _Problem:
    predicted = predict_times(model, inputs, options.method)
    return _Problem(model, options, inputs, predicted, predicted.times.scaled(options.factors or {}), inputs.run)


def _solution(problem: _Problem) -> SearchSolution:
    options, inputs = problem.options, problem.inputs
    largest = largest_subbatch(problem.cnn, inputs.machine, ignore_memory=options.ignore_memory)
    return solve_search(
        problem.times,
        problem.run,
        options.mean_window,
        feasible=(inputs.configs["subbatch_size"] <= largest).to_numpy(bool),
        objective=objective_of(options.objective, inputs.machine),
        also=options.further_windows,
        epochs=epochs_of(options.objective, options.quality),
    )


def _result(
    problem: _Problem,
    solution: SearchSolution,
    table: pd.DataFrame,
    rows: IntArray,
    candidates: pd.DataFrame,
    draws: CandidateDraws,
) -> SearchResult:
    options = problem.options
    low, high = rank_bounds(draws)
    ranked = candidates.assign(rank=np.arange(1, len(rows) + 1), rank_low=low, rank_high=high)
    cost = candidates[objective_column(options.objective)].to_numpy(float)
    front = pareto_front(solution.cost, problem.run.n_gpus, rows if options.min_probability else solution.order)
    return SearchResult(
        cnn=problem.cnn.name,
        machine=problem.inputs.machine.name,
        window=(float(options.window[0]), float(options.window[1])),
        objective=options.objective,
        best=in_order(ranked.iloc[: options.top]),
        misses=table.iloc[:0] if len(rows) else _nearest_misses(table, solution, options.windows),
        pareto=table.iloc[front].reset_index(drop=True),
        grid=table,
        n_refined=solution.n_refined,
        assumed=tuple(name for name, source in problem.predicted.source.items() if source == ASSUMED),
        window_quantile=options.window_quantile,
        max_staleness=options.max_staleness,
        min_probability=options.min_probability,
        target_accuracy=None if options.quality is None else options.quality.target_accuracy,
        stability=rank_stability(draws, cost) if len(rows) else None,
        experimental=None if options.quality is None else options.quality.experimental,
        epochs=options.epochs,
        factors=dict(options.factors or {}),
        measured_on=problem.model.measured_on,
        other_machine=problem.predicted.other_machine,
        outside=outside_means(problem.model, problem.inputs.take(rows[:1]), options.of_prediction) if len(rows) else None,
    )


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


def _grid_table(problem: _Problem, solution: SearchSolution) -> pd.DataFrame:
    configs, objective = problem.inputs.configs, problem.options.objective
    extra = {name: value for name, value in solution.values.items() if name != MEAN}
    if objective == "time_to_target":
        extra[objective_column(objective)] = solution.cost
    return (
        configs[list(SIZES)]
        .assign(
            epoch_s=solution.epoch_s,
            mean_minibatch_size=solution.mean_minibatch_size,
            **extra,
            **priced(solution.epoch_s, configs["n_nodes"].to_numpy(int), problem.inputs.machine),
            in_window=solution.in_window,
            feasible=solution.feasible,
            in_domain=np.logical_and.reduce(list(problem.predicted.in_domain.values())),
            closed=solution.closed,
        )
        .reset_index(drop=True)
    )


def _sure_enough(problem: _Problem, solution: SearchSolution) -> tuple[IntArray, CandidateDraws, Interval]:
    """The candidates, best first, whose windows hold with the probability asked for; their draws and intervals of T_Epoch."""
    options = problem.options
    rows = solution.order[: max(options.top, MOST_DRAWN if options.min_probability else N_CANDIDATES)]
    draws, interval = _draws(problem, rows)
    sure = np.flatnonzero(draws.window_probability >= options.min_probability)[: max(options.top, N_CANDIDATES)]
    return rows[sure], draws.take(sure), Interval(interval.lower[sure], interval.upper[sure], interval.level)


def _draws(problem: _Problem, rows: IntArray) -> tuple[CandidateDraws, Interval]:
    """Joint draws of the candidates, and the interval of their T_Epoch that they give."""
    options, machine = problem.options, problem.inputs.machine
    if not len(rows):
        return CandidateDraws(np.zeros((N_DRAWS, 0)), np.zeros((N_DRAWS, 0), bool)), Interval(np.zeros(0), np.zeros(0), LEVEL)
    inputs, rng = problem.inputs.take(rows), np.random.default_rng(options.seed)
    predicted = predict_times(problem.model, inputs, options.method)
    drawn = draw_times(problem.model, inputs, predicted, kind=RUNS, n_draws=N_DRAWS, rng=rng).scaled(options.factors or {})
    means, run = problem.times.take(rows), problem.run.take(rows)
    strays = minibatch_strays(problem.model, inputs, drawn, options.method, rng)
    in_seconds = draw_candidates(drawn, means, run, options.windows, cost_of=_in_seconds, strays=strays)
    low, high = np.quantile(in_seconds.cost, (0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)), axis=0)
    cost_of, epochs = objective_of(options.objective, machine), epochs_of(options.objective, options.quality)
    if cost_of is None and epochs is None:
        return in_seconds, Interval(low, high, LEVEL)
    draws = draw_candidates(drawn, means, run, options.windows, cost_of=cost_of or _in_seconds, epochs=epochs, strays=strays)
    return draws, Interval(low, high, LEVEL)


def minibatch_strays(
    model: Model, inputs: ConfigurationInputs, drawn: ComponentTimes, method: str, rng: np.random.Generator
) -> FloatArray | None:
    """Factors by which mini-batches of whole runs that were left out were off beyond the draws of times; None without such runs.

    Parameters
    ----------
    model : Model
        Of kernels, of runs or of both.
    inputs : ConfigurationInputs
        Of n_rows configurations.
    drawn : ComponentTimes
        Shape (n_draws, n_rows).
    method : str
        Of kernel times.
    rng : Generator

    Returns
    -------
    array, shape (n_draws, n_rows), or None
    """
    if model.runs is None:
        return None
    half = model.runs.half_width(MEAN, inputs.run_keys, LEVEL, model.score.step_residuals(method), method)
    moved = solve_iterations(drawn, inputs.run, "second_moment")
    return left_out_strays(mean_minibatch_size(moved.gpu_iteration_s, moved.update_iteration_s, inputs.run), half, LEVEL, rng)


def _in_seconds(seconds: FloatArray, _: RunGrid) -> FloatArray:
    return seconds


def _detailed(problem: _Problem, table: pd.DataFrame, rows: IntArray, epoch_interval: Interval) -> pd.DataFrame:
    """The candidates with the spread of their mini-batch, their staleness and, where asked, the way to the target."""
    times, run, quality = problem.times.take(rows), problem.run.take(rows), problem.options.quality
    spread: FloatArray = np.zeros(0)
    age: FloatArray = np.zeros(0)
    if len(rows):
        state = solve_iterations(times, run)
        spread, age = minibatch_std(times, state, run), mean_staleness(times, state, run)
    found = table.iloc[rows].assign(minibatch_std=spread, mean_staleness=age)
    if quality is None or not len(rows):
        return found
    columns = target_columns(found, quality, epoch_interval)
    if problem.options.strict and not columns["quality_in_domain"].iloc[: problem.options.top].all():
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
