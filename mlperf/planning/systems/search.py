"""The best configuration of any system: every size and setting, what cannot run, what fits the windows, how sure the order is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import check_count
from mlperf.core.shown import Shown, plain
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.component_times import ASSUMED, NOT_MEASURED, RUNS, Draws
from mlperf.planning.inputs import ConfigurationInputs, configuration_inputs, machine_of, of_job, one_network
from mlperf.planning.search.draws import CandidateDraws, RankStability, first_share, rank_bounds, rank_stability
from mlperf.planning.search.objectives import objective_of, priced
from mlperf.planning.search.one_machine import LEVEL, N_CANDIDATES, NEAREST_MISSES
from mlperf.planning.search.one_machine import N_DRAWS as N_RANKING_DRAWS
from mlperf.planning.search.search import Sizes, search_configs, window_of
from mlperf.planning.search.search_grid import pareto_front
from mlperf.planning.systems.configurations import Settings, check_settings, network_settings, of_networks, run_of, with_settings
from mlperf.planning.systems.grid import SearchAsked, solved_grid
from mlperf.planning.systems.predict import SystemOptions, outside_means, refuse_outside, solved
from mlperf.planning.systems.times import SystemTimes, draw_system_times, system_times
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.base.system import EPOCH, Refusing, Screened, System, refusals
from mlperf.systems.registry import system_of
from mlperf.training.elsewhere import model_on
from mlperf.training.measured_on import MeasuredOn
from mlperf.training.model import Model


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SystemSearch(Shown):
    """A ranking of a system's configurations.

    Attributes
    ----------
    system, cnn, machine : str
        Names.
    window : (float, float)
        Of the mean mini-batch size, samples per update.
    objective : str
        What is minimised: ``epoch_s``, ``cost`` or ``energy_j`` of an epoch.
    best : DataFrame
        ``rank``, sizes, settings, outputs, ``cost, energy_j, first_share`` (share of joint draws of the models in which
        the row is the best), ``rank_low, rank_high``, ``in_domain``.
    misses : DataFrame
        Where ``best`` is empty: the rows nearest to the window.
    pareto : DataFrame
        Rows that no other beats with at most as many GPUs.
    refused : mapping of str to int
        Why configurations cannot run, with their number.
    n_configs : int
        Configurations asked about.
    settings : tuple of str
        Columns of the tables that are settings of the system which were asked for.
    assumed, left_out : tuple of str
        Components taken from the machine's specification, and those that count as 0.
    stability : RankStability or None
        How far the ranking survives the uncertainty of the component models.
    epochs : float
        The job's.
    factors : mapping of str to float
        Components and waits that were multiplied (``--what-if``), and by what.
    measured_on : MeasuredOn or None
        Where the times come from.
    other_machine : tuple of str
        How the machine asked about differs from that one.
    outside : DataFrame or None
        What of the first row lies outside the measured domain and why (see `mlperf.planning.systems.outside.system_outside`); None
        where nothing was found.
    """

    system: str
    cnn: str
    machine: str
    window: tuple[float, float]
    objective: str
    best: pd.DataFrame
    misses: pd.DataFrame
    pareto: pd.DataFrame
    refused: Mapping[str, int]
    n_configs: int
    settings: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    stability: RankStability | None = None
    epochs: float = 1.0
    factors: Mapping[str, float] = field(default_factory=dict)
    measured_on: MeasuredOn | None = None
    other_machine: tuple[str, ...] = ()
    outside: pd.DataFrame | None = None

    def to_dict(self) -> dict[str, object]:
        """Every field as plain values."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}

    def to_frame(self) -> pd.DataFrame:
        """The ranking; the nearest misses where nothing lies in the window."""
        return self.best if len(self.best) else self.misses


def search_system(
    model: Model,
    system: System | str,
    cnn: CnnSpec | str | Path,
    machine: MachineSpec | str | Path,
    job: JobSpec,
    *,
    n_nodes: Sequence[int] | None = None,
    n_gpus_per_node: Sequence[int] | int | None = None,
    subbatch_size: Sequence[int] | None = None,
    settings: Settings | None = None,
    minibatch: tuple[float, float] | None = None,
    objective: str = EPOCH,
    max_staleness: float | None = None,
    top: int = 10,
    ignore_memory: bool = False,
    **options: Any,
) -> SystemSearch:
    """Sweep sizes and settings of a system and rank what can run and lies in the window.

    Parameters
    ----------
    model, system, cnn, machine, job, settings
        As of `mlperf.planning.systems.predict.predict_system`.
    n_nodes, n_gpus_per_node, subbatch_size, minibatch, ignore_memory, top
        As of `mlperf.search_runs`.
    objective : {"epoch_s", "cost", "energy_j"}
        What to minimise.
    max_staleness : float, optional
        Largest mean staleness, of a system that has some.
    **options
        Of `mlperf.planning.systems.predict.SystemOptions`.

    Raises
    ------
    DataError, UsageError, DomainError
        As `predict_system`; also an unknown objective, or a figure that the machine lacks.
    """
    found = system_of(system)
    check_settings(settings)
    cnn, machine = one_network(cnn), machine_of(machine)
    asked = SearchAsked(
        window_of(job, minibatch),
        objective,
        max_staleness,
        top,
        ignore_memory,
        tuple(settings or {}),
        SystemOptions(**of_job(job, options)),
    )
    check_count(top, "top")
    objective_of(objective, machine)
    sizes = Sizes(n_nodes, n_gpus_per_node, subbatch_size)
    # A system that refuses what does not fit knows more of its memory than that every device holds all.
    configs = search_configs(cnn, machine, job, sizes, ignore_memory=ignore_memory or isinstance(found, Refusing))
    configs = of_networks(with_settings(configs, found, {**network_settings(found), **(settings or {})}), [cnn])
    return search_configurations(model, found, cnn, machine, configs, asked)


def search_configurations(
    model: Model, system: System, cnn: CnnSpec, machine: MachineSpec, configs: pd.DataFrame, asked: SearchAsked
) -> SystemSearch:
    """Rank the rows of ``configs``."""
    options, model = asked.predict, model_on(model, machine)
    inputs = configuration_inputs(model, [cnn], machine, configs, options.optimizer)
    means = system_times(model, inputs, system, options.method, options.exchange).scaled(options.factors)
    run = run_of(inputs, system)
    if asked.ignore_memory:
        run.pop("device_memory_bytes", None)
    reasons = {why: np.broadcast_to(mask, len(configs)) for why, mask in refusals(system, run).items()}
    can_run = ~np.logical_or.reduce([np.zeros(len(configs), bool), *reasons.values()])
    grid = solved_grid(system, inputs, means, can_run, asked)
    table, cost, n_gpus = grid.table(), grid.cost, grid.n_gpus
    order = np.flatnonzero(grid.holds() & grid.is_exact)
    order = order[np.lexsort((n_gpus[order], cost[order]))]
    ranked, stability = _ranked(model, system, inputs, table, order[: max(asked.top, N_CANDIDATES)], asked)
    return SystemSearch(
        system=system.name,
        cnn=cnn.name,
        machine=machine.name,
        window=asked.window,
        objective=asked.objective,
        best=ranked.iloc[: asked.top].reset_index(drop=True),
        misses=table.iloc[:0] if len(order) else table.iloc[grid.nearest()[:NEAREST_MISSES]].reset_index(drop=True),
        pareto=table.iloc[pareto_front(cost, n_gpus, order)].reset_index(drop=True),
        refused={why: int(mask.sum()) for why, mask in reasons.items() if mask.any()},
        n_configs=len(configs),
        settings=asked.settings,
        assumed=tuple(name for name, source in means.source.items() if source == ASSUMED),
        left_out=tuple(name for name, source in means.source.items() if source == NOT_MEASURED),
        stability=stability,
        epochs=options.epochs,
        factors=dict(options.factors),
        measured_on=model.measured_on,
        other_machine=means.other_machine,
        outside=outside_means(model, inputs.take(order[:1]), system, options) if len(order) else None,
    )


def _ranked(
    model: Model, system: System, inputs: ConfigurationInputs, table: pd.DataFrame, rows: IntArray, asked: SearchAsked
) -> tuple[pd.DataFrame, RankStability | None]:
    """The candidates with the share of draws in which each is first and bounds of its rank; those shown with a run's interval."""
    if not len(rows):
        return table.iloc[:0], None
    options, asked_of = asked.predict, inputs.take(rows)
    means = system_times(model, asked_of, system, options.method, options.exchange).scaled(options.factors)
    if options.strict:
        refuse_outside(model, asked_of, system, means, options)
    epoch_s = table[EPOCH].to_numpy(float)[rows]
    seconds = _drawn_epochs_s(model, system, asked_of, means, epoch_s, options, RUNS, N_RANKING_DRAWS)
    cost = priced(seconds, asked_of.configs["n_nodes"].to_numpy(int), asked_of.machine).get(asked.objective, seconds)
    found = CandidateDraws(cost, np.ones(seconds.shape, bool))
    rank_low, rank_high = rank_bounds(found)
    chosen = table.iloc[rows].reset_index(drop=True)
    chosen.insert(0, "rank", np.arange(1, len(rows) + 1))
    chosen = chosen.assign(
        epoch_low_s=np.nan, epoch_high_s=np.nan, first_share=first_share(found), rank_low=rank_low, rank_high=rank_high
    )
    of_run = _interval_of_run(model, system, inputs.take(rows[: asked.top]), epoch_s[: asked.top], options)
    chosen.loc[: asked.top - 1, ["epoch_low_s", "epoch_high_s"]] = np.column_stack((of_run.lower, of_run.upper))
    return chosen, rank_stability(found, chosen[asked.objective].to_numpy(float))


def _interval_of_run(
    model: Model, system: System, inputs: ConfigurationInputs, epoch_s: FloatArray, options: SystemOptions
) -> Interval:
    """Of each configuration's epoch, from as many draws as `predict_system` takes."""
    means = system_times(model, inputs, system, options.method, options.exchange).scaled(options.factors)
    drawn = _drawn_epochs_s(model, system, inputs, means, epoch_s, options, "run", options.n_draws)
    low, high = np.quantile(drawn, (0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)), axis=0)
    return Interval(np.minimum(low, epoch_s), np.maximum(high, epoch_s), LEVEL)


def _drawn_epochs_s(
    model: Model,
    system: System,
    inputs: ConfigurationInputs,
    means: SystemTimes,
    epoch_s: FloatArray,
    options: SystemOptions,
    kind: str,
    n_draws: int,
) -> FloatArray:
    """Epochs of drawn times, shape (n_draws, n_configs); of cheaper equations only the ratio to their own centre counts."""
    rng = np.random.default_rng(options.seed)
    draws = Draws(kind, n_draws, int(rng.integers(2**63)), rng, options.method)
    drawn = draw_system_times(model, inputs, system, means, draws, options.exchange)
    drawn = {name: seconds * options.factors.get(name, 1.0) for name, seconds in drawn.items()}
    run, shape = run_of(inputs, system), (n_draws, len(epoch_s))
    if not isinstance(system, Screened):
        return np.array(np.broadcast_to(solved(system, drawn, run).outputs[EPOCH], shape))
    moved, centre = (solved(system.screen((EPOCH,)), seconds, run).outputs[EPOCH] for seconds in (drawn, means.seconds))
    return np.array(np.broadcast_to(epoch_s * moved / centre, shape))
