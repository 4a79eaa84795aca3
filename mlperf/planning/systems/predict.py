"""`mlperf.predict_system`: what any system does with a network that was never run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, check_count
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.component_times import NOT_MEASURED, Draws
from mlperf.planning.inputs import (
    ConfigurationInputs,
    Counts,
    asked_configurations,
    configuration_inputs,
    machine_of,
    networks,
    of_job,
)
from mlperf.planning.limits import check_limits
from mlperf.planning.options import MOST_DETAILED, N_DRAWS, check_factors, check_level, check_method
from mlperf.planning.outside import refusal
from mlperf.planning.systems.configurations import Settings, check_settings, network_settings, of_networks, run_of, with_settings
from mlperf.planning.systems.outside import system_outside
from mlperf.planning.systems.prediction import SystemPrediction
from mlperf.planning.systems.times import SystemTimes, draw_system_times, system_times, told_source
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.optimizers import MOMENTUM_SGD
from mlperf.systems.base.system import Refusing, Solution, System, refusals
from mlperf.systems.registry import system_of
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.elsewhere import model_on
from mlperf.training.gradient.gradient import PREDICTOR
from mlperf.training.model import Model


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """How a system is predicted.

    Attributes
    ----------
    method : str
        Of kernel times.
    factors : mapping of str to float
        Multiply components: what if they were as much faster or slower.
    level, n_draws, seed
        Of the intervals.
    strict : bool
        Refuse what lies outside the measured domain.
    optimizer : str
        What applies the gradients.
    epochs : float
        Passes over the data set.
    exchange : ExchangeModel, optional
        A measured exchange in place of one that is worked out from the machine's network.
    """

    method: str = PREDICTOR
    factors: Mapping[str, float] = field(default_factory=dict)
    level: float = 0.95
    n_draws: int = N_DRAWS
    seed: int = 0
    strict: bool = False
    optimizer: str = MOMENTUM_SGD
    epochs: float = 1.0
    exchange: ExchangeModel | None = None

    def __post_init__(self) -> None:
        check_method(self.method)
        check_level(self.level)
        check_factors(self.factors)
        check_count(self.seed, "seed", least=0)


def predict_system(
    model: Model,
    system: System | str,
    cnn: CnnSpec | str | Path | Iterable[CnnSpec | str | Path],
    machine: MachineSpec | str | Path,
    job: JobSpec,
    *,
    n_nodes: Counts | None = None,
    n_gpus_per_node: Counts | None = None,
    subbatch_size: Counts | None = None,
    settings: Settings | None = None,
    **options: Any,
) -> SystemPrediction:
    """Predict any system from the model of a campaign.

    Parameters
    ----------
    model : Model
        From `mlperf.train`.
    system : System or str
        ``"data-parallel"``, another name of `mlperf.systems.registry.SYSTEMS`, ``"module:OBJECT"``, or an object of one's own.
    cnn, machine, job, n_nodes, n_gpus_per_node, subbatch_size
        As of `mlperf.predict_epoch`.
    settings : mapping of str to number or sequence
        Of the system (`System.settings`); every combination is predicted.
    **options
        Of `SystemOptions`.

    Raises
    ------
    DataError
        A kernel has no model, or a configuration cannot run (memory, divisibility): says which and why.
    UsageError
        No such system or setting, or a component that a campaign does not give.
    DomainError
        With ``strict=True``, outside the measured domain.
    """
    found = system_of(system)
    check_settings(settings)
    cnns, machine = networks(cnn), machine_of(machine)
    configs = asked_configurations(cnns, machine, job, (n_nodes, n_gpus_per_node, subbatch_size))
    configs = of_networks(with_settings(configs, found, {**network_settings(found), **(settings or {})}), cnns)
    check_limits(machine, cnns, configs, memory=not isinstance(found, Refusing))
    asked = SystemOptions(**of_job(job, options))
    return replace(predict_system_configurations(model, found, cnns, machine, configs, asked), settings=tuple(settings or {}))


def predict_system_configurations(
    model: Model, system: System, cnns: list[CnnSpec], machine: MachineSpec, configs: pd.DataFrame, options: SystemOptions
) -> SystemPrediction:
    """Solve a system for each row of ``configs``: ``cnn``, the run's columns and the system's settings."""
    model = model_on(model, machine)
    inputs = configuration_inputs(model, cnns, machine, configs, options.optimizer)
    means = system_times(model, inputs, system, options.method, options.exchange).scaled(options.factors)
    run = run_of(inputs, system)
    refuse_impossible(system, run, inputs)
    solution = solved(system, means.seconds, run)
    if options.strict:
        refuse_outside(model, inputs, system, means, options)
    intervals = {kind: output_intervals(model, inputs, system, means, solution, options, kind) for kind in ("mean", "run")}
    inside = all_inside(means)
    names = [setting.name for setting in system.settings]
    breakdown_s = breakdown_of(system, solution, len(configs))
    return SystemPrediction(
        system=system.name,
        title=system.title,
        cnn=tuple(inputs.cnns[position].name for position in configs["cnn"]),
        machine=machine.name,
        configs=configs[["n_nodes", "n_gpus_per_node", "subbatch_size", "dataset_size", *names]].reset_index(drop=True),
        outputs={name: on_rows(solution.outputs[name], len(configs)) for name in system.outputs},
        breakdown_s=breakdown_s,
        confidence_interval=intervals["mean"],
        prediction_interval=intervals["run"],
        in_domain={**dict.fromkeys(system.outputs, inside), **means.in_domain},
        source=told_source(inputs, means.source),
        flags={name: on_rows(flag, len(configs)).astype(bool) for name, flag in solution.flags.items()},
        measured_on=model.measured_on,
        other_machine=means.other_machine,
        epochs=options.epochs,
        factors=dict(options.factors),
        outside=(
            system_outside(model, inputs, system, means, breakdown_s, options.method) if len(configs) <= MOST_DETAILED else None
        ),
    )


def refuse_impossible(system: System, run: Mapping[str, FloatArray], inputs: ConfigurationInputs) -> None:
    """Raise DataError naming the first configuration that cannot run, and why."""
    for reason, mask in refusals(system, run).items():
        if mask.any():
            row = inputs.configs.iloc[int(np.flatnonzero(np.broadcast_to(mask, len(inputs.configs)))[0])]
            sizes = f"{row['n_nodes']:g} nodes x {row['n_gpus_per_node']:g} GPUs, sub-batch {row['subbatch_size']:g}"
            told = ", ".join(
                [sizes, *(f"{each.name} {row[each.name]:g}" for each in system.settings if row[each.name] != each.default)]
            )
            hint = "Change the sizes, or a setting with --set; search leaves out what cannot run."
            raise DataError(f"this configuration cannot run: {reason}", place=f"system {system.name!r}, {told}", hint=hint)


def solved(system: System, seconds: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
    """A system's solution, checked: every output that it promises, finite and not negative.

    Raises
    ------
    DataError
        It is no `Solution`, or an output is missing, negative or not a number: the system's equations are at fault.
    """
    found = system.solve(seconds, run)
    if not isinstance(found, Solution):
        raise DataError(f"the solve of system {system.name!r} returned a {type(found).__name__}, expected a Solution")
    for name in system.outputs:
        if name not in found.outputs:
            raise DataError(f"the system {system.name!r} promises {name!r} and gave {', '.join(found.outputs)}")
        value = np.asarray(found.outputs[name])
        wrong = np.isnan(value) | (value < 0.0)
        if wrong.any():
            raise DataError(f"the system {system.name!r} gave {float(value[wrong].ravel()[0])!r} for {name!r}, expected >= 0")
    return found


def output_intervals(
    model: Model,
    inputs: ConfigurationInputs,
    system: System,
    means: SystemTimes,
    solution: Solution,
    options: SystemOptions,
    kind: str,
) -> dict[str, Interval]:
    """Intervals of every output: draws of the component times pushed through the equations."""
    rng = np.random.default_rng(options.seed)
    draws = Draws(kind, options.n_draws, int(rng.integers(2**63)), rng, options.method)
    drawn = draw_system_times(model, inputs, system, means, draws, options.exchange)
    factors = options.factors
    scaled = {name: seconds * factors.get(name, 1.0) if not name.endswith("_std") else seconds for name, seconds in drawn.items()}
    moved = solved(system, scaled, run_of(inputs, system))
    tail = 0.5 * (1.0 - options.level)
    found = {}
    for name in system.outputs:
        value = on_rows(solution.outputs[name], len(inputs.configs))
        shape = (options.n_draws, len(inputs.configs))
        low, high = np.quantile(np.broadcast_to(moved.outputs[name], shape), (tail, 1.0 - tail), axis=0)
        found[name] = Interval(np.minimum(low, value), np.maximum(high, value), options.level)
    return found


def all_inside(means: SystemTimes) -> BoolArray:
    """Whether each configuration lies inside the measured domain, shape (n_configs,); what counts as 0 is told apart."""
    parts = [part for name, part in means.in_domain.items() if means.source[name] != NOT_MEASURED]
    return np.asarray(np.logical_and.reduce(parts))


def refuse_outside(model: Model, inputs: ConfigurationInputs, system: System, means: SystemTimes, options: SystemOptions) -> None:
    """Raise DomainError naming the first configuration outside the measured domain, and the heaviest reason."""
    first = np.flatnonzero(~all_inside(means))[:1]
    if first.size:
        of_it = inputs.take(first)
        raise refusal(of_it, outside_means(model, of_it, system, options))


def outside_means(model: Model, inputs: ConfigurationInputs, system: System, options: SystemOptions) -> pd.DataFrame:
    """`system_outside` of configurations of which nothing is solved yet."""
    means = system_times(model, inputs, system, options.method, options.exchange).scaled(options.factors)
    breakdown_s = breakdown_of(system, solved(system, means.seconds, run_of(inputs, system)), len(inputs.configs))
    return system_outside(model, inputs, system, means, breakdown_s, options.method)


def breakdown_of(system: System, solution: Solution, n_configs: int) -> dict[str, dict[str, FloatArray]]:
    """By activity and component, seconds of each configuration; a search, which tells no parts, solves without them.

    Raises
    ------
    DataError
        The solution has no parts: the system's equations are at fault.
    """
    if not solution.breakdown_s or not all(solution.breakdown_s.values()):
        hint = "Its second argument is {activity: {component: seconds}}, of the seconds that add up to a period."
        raise DataError(f"the Solution of system {system.name!r} has no parts, expected those of each activity", hint=hint)
    return {
        activity: {name: on_rows(part, n_configs) for name, part in parts.items()}
        for activity, parts in solution.breakdown_s.items()
    }


def on_rows(values: FloatArray | BoolArray, n_rows: int) -> FloatArray:
    """Values broadcast to one a row."""
    return np.array(np.broadcast_to(values, (n_rows,)))
