"""A few measured steps of any system: one factor a component, with shares from its own equations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.datasets.joining.join import Table
from mlperf.models.uncertainty.log_factors import LogFactors, update_log_factors
from mlperf.planning.calibration.narrowing import (
    NETWORK_STD,
    combined,
    log_std,
    narrowed,
    observed_notes,
    prior_spread,
    told_factors,
)
from mlperf.planning.calibration.observed_rows import SIZES, ObservedRows, measured_ratios, read_observed
from mlperf.planning.calibration.sources import NETWORK, calibrated_reasons, calibrated_sources
from mlperf.planning.component_times import ASSUMED, Draws
from mlperf.planning.inputs import ConfigurationInputs, configuration_inputs, machine_of, networks, of_job
from mlperf.planning.systems.configurations import LINKS, LOCAL_LINKS, network_settings, of_networks, run_of
from mlperf.planning.systems.predict import SystemOptions, on_rows, output_intervals, predict_system, refuse_impossible, solved
from mlperf.planning.systems.prediction import SystemPrediction
from mlperf.planning.systems.times import SystemTimes, draw_system_times, system_times
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.systems.base.system import EPOCH, Refusing, Solution, System
from mlperf.systems.registry import system_of
from mlperf.systems.sprint.components import OF_PASSES
from mlperf.training.elsewhere import model_on
from mlperf.training.model import Model

STEP = 0.01
"""Change of a component's logarithm for the shares of an output."""
N_STEPS, MOST_STEPS, NEAR = 4, 24, 0.02
"""Gauss-Newton steps, at least and at most, and the last one's length: where outputs bend, four may not be near."""
PASSED = ("method", "level", "n_draws", "seed", "factors", "exchange")


def predict_system_observed(
    model: Model,
    system: System | str,
    cnn: Any,
    machine: MachineSpec | Any,
    job: JobSpec,
    observed: Table,
    *,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> SystemPrediction:
    """Predict a system as `mlperf.predict_system` does, after a few measurements on the machine asked about.

    Parameters
    ----------
    model, system, cnn, machine, job, settings, **options
        As `mlperf.predict_system` takes them.
    observed : DataFrame, str or Path
        As `mlperf.planning.calibration.observed.predict_observed` takes it; its columns are the system's outputs (``step_s``), its
        components (``forward_s``), and its settings.

    Returns
    -------
    SystemPrediction
        With ``observed``, the table of factors; what is worked out of the machine's latency and bandwidth has one, ``network``.

    Raises
    ------
    DataError
        The table has no such column, a network that nobody knows, a value that is not > 0, or a configuration that cannot run.
    UsageError
        The model gives no component of the system.
    """
    found = system_of(system)
    nets, where = networks(cnn), machine_of(machine)
    known = {setting.name: setting.default for setting in found.settings} | network_settings(found) | dict(settings or {})
    asked = {name: options.get(name) for name in SIZES} | known
    components = [component.name for component in found.components if component.kind != "coupling"]
    columns = {f"{name}_s": name for name in components} | {name: name for name in found.outputs}
    rows = read_observed(observed, nets, where, job, columns, asked)
    rows = replace(rows, configs=of_networks(rows.configs, rows.cnns))
    rows.check_limits(where, memory=not isinstance(found, Refusing))
    passed: dict[str, Any] = {name: options[name] for name in PASSED if name in options}
    options_of = SystemOptions(**of_job(job, passed))
    factors = system_factors(model, found, rows, where, options_of)
    given = {**options, "factors": combined(options.get("factors"), component_factors(factors))}
    near = with_network(where, factors.factors.get(NETWORK, 1.0))
    prediction = predict_system(model, found, nets, near, job, settings=settings, **given)
    wholes = [number for number, name in enumerate(rows.measured) if name in found.outputs]
    narrow = _narrowed_prediction(model, found, nets, where, prediction, factors, wholes, options_of)
    return replace(narrow, observed_notes=(*observed_notes(factors, list(rows.measured)), *rows.notes))


def system_factors(model: Model, system: System, rows: ObservedRows, machine: MachineSpec, options: SystemOptions) -> LogFactors:
    """Factors of a system's components after the measurements, linear in logarithms about the factors found so far.

    A what-if among ``options`` counts for nothing: what was measured is the machine as it is.

    Raises
    ------
    UsageError
        The model gives no time of the system's components, or none of what was measured.
    """
    options, model = replace(options, factors={}), model_on(model, machine)
    inputs = configuration_inputs(model, rows.cnns, machine, rows.configs, options.optimizer)
    refuse_impossible(system, run_of(inputs, system), inputs)
    plain = Scaled.of(model, system, inputs, options)
    names = plain.names
    absent = [name for name in rows.measured if name not in names and name not in system.outputs]
    if absent or not names:
        got = f"the model has no time of {', '.join(absent) or 'any component'} of the system {system.name!r}"
        raise UsageError(got, hint="Measure an output instead, such as step_s.")
    known = _prior(model, plain, inputs, options)
    prior = np.where(np.array(names) == NETWORK, NETWORK_STD, known)
    found = update_log_factors(names, prior, np.empty((0, len(names))), np.empty(0), np.empty(0, np.int64))
    last = np.zeros(len(names))
    for number in range(MOST_STEPS):
        shares, outputs = plain.shares(found.factors), plain.outputs(found.factors)
        seconds = plain.seconds(found.factors)
        expected = {name: outputs[name] if name in outputs else seconds[name] for name in rows.measured}
        told = measured_ratios(rows, names, expected, {name: shares[name] for name in rows.measured if name in shares})
        ratio = told.log_ratio + found.log_shift(told.shares)
        after = update_log_factors(names, prior, told.shares, ratio, told.column, known)
        before, found = found.mean, _damped(after, found.mean, last)
        last = found.mean - before
        if number + 1 >= N_STEPS and found is after and float(np.abs(last).max(initial=0.0)) < NEAR:
            break
    return found


def _damped(after: LogFactors, before: FloatArray, last: FloatArray) -> LogFactors:
    """Half of a step that goes back by more than half of the last one.

    Where an exchange begins to be seen, an output has a bend, and whole steps go back and forth across it for ever.
    """
    move = after.mean - before
    if float(move @ last) >= 0.0 or float(np.linalg.norm(move)) <= 0.5 * float(np.linalg.norm(last)):
        return after
    return replace(after, mean=before + 0.5 * move)


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A system's configurations, asked what comes out where components are multiplied.

    Attributes
    ----------
    system : System
    times : SystemTimes
        As the model gives them, with the factors of a what-if.
    run : mapping of str to array, shape (n_configs,)
        What the equations read besides.
    n_configs : int
    """

    system: System
    times: SystemTimes
    run: Mapping[str, FloatArray]
    n_configs: int

    @classmethod
    def of(cls, model: Model, system: System, inputs: ConfigurationInputs, options: SystemOptions) -> Scaled:
        """Of the model's times at some configurations."""
        times = system_times(model, inputs, system, options.method, options.exchange).scaled(options.factors)
        return cls(system, times, run_of(inputs, system), len(inputs.configs))

    @property
    def names(self) -> tuple[str, ...]:
        """Components that the model gives a time of, and the network where something is worked out of it."""
        own = tuple(
            name
            for name, seconds in self.times.seconds.items()
            if not name.endswith("_std") and np.any(seconds > 0.0) and name not in self.of_network
        )
        return (*own, NETWORK) if self.of_network else own

    @property
    def of_network(self) -> tuple[str, ...]:
        """Components that are worked out of the network's figures."""
        return tuple(name for name, source in self.times.source.items() if source == ASSUMED and name not in OF_PASSES)

    def seconds(self, factors: Mapping[str, float]) -> dict[str, FloatArray]:
        """Component times, multiplied; those that are worked out of the network's figures by its factor."""
        slower = factors.get(NETWORK, 1.0)
        own = {name: factors.get(name, 1.0) for name in self.times.seconds if not name.endswith("_std")}
        assumed = {name: slower for name in own if name in self.of_network}
        return dict(self.times.scaled(own | assumed).seconds)

    def solution(self, factors: Mapping[str, float]) -> Solution:
        """The system solved on a network that is as much slower."""
        slower = factors.get(NETWORK, 1.0)
        links = {name: self.run[name] for name in (*LINKS, *LOCAL_LINKS.values()) if name in self.run}
        slow = {name: value * slower if name.endswith("latency_s") else value / slower for name, value in links.items()}
        return solved(self.system, self.seconds(factors), {**self.run, **slow})

    def outputs(self, factors: Mapping[str, float]) -> dict[str, FloatArray]:
        """Every output, shape (n_configs,)."""
        solution = self.solution(factors)
        return {name: on_rows(solution.outputs[name], self.n_configs) for name in self.system.outputs}

    def shares(self, factors: Mapping[str, float]) -> dict[str, FloatArray]:
        """Change of the logarithm of each output with that of each of `names`: shape (n_configs, n_components)."""
        base, names = self.outputs(factors), self.names
        found = {name: np.zeros((self.n_configs, len(names))) for name in self.system.outputs}
        for column, name in enumerate(names):
            moved = self.outputs({**factors, name: factors.get(name, 1.0) * float(np.exp(STEP))})
            for output, before in base.items():
                after = moved[output]
                there = (before > 0.0) & (after > 0.0) & np.isfinite(before) & np.isfinite(after)
                found[output][there, column] = np.log(after[there] / before[there]) / STEP
        return found


def with_network(machine: MachineSpec, factor: float) -> MachineSpec:
    """A machine on whose network everything takes so many times as long."""
    links = {name: getattr(machine, name) for name in (*LINKS, *LOCAL_LINKS.values())}
    slower = {
        name: value * factor if name.endswith("latency_s") else value / factor for name, value in links.items() if value is not None
    }
    return replace(machine, **slower)


def component_factors(found: LogFactors) -> dict[str, float]:
    """The factors without that of the network."""
    return {name: factor for name, factor in found.factors.items() if name != NETWORK}


def _prior(model: Model, plain: Scaled, inputs: ConfigurationInputs, options: SystemOptions) -> FloatArray:
    """What the model does not know of each component's logarithm, shape (n_components,): from draws of one run.

    0 for the network, which no model knows.
    """
    rng = np.random.default_rng(options.seed)
    draws = Draws("run", options.n_draws, int(rng.integers(2**63)), rng, options.method)
    drawn = draw_system_times(model, inputs, plain.system, plain.times, draws, options.exchange)
    spread = np.array([0.0 if name == NETWORK else log_std(drawn[name]) for name in plain.names])
    interval = output_intervals(model, inputs, plain.system, plain.times, plain.solution({}), options, "run")[EPOCH]
    return prior_spread(spread, plain.shares({})[EPOCH], interval)


def _narrowed_prediction(
    model: Model,
    system: System,
    nets: list[Any],
    machine: MachineSpec,
    prediction: SystemPrediction,
    found: LogFactors,
    wholes: Collection[int],
    options: SystemOptions,
) -> SystemPrediction:
    """The prediction with the intervals that the factors leave."""
    numbers = {net.name: number for number, net in enumerate(nets)}
    configs = prediction.configs.assign(cnn=[numbers[name] for name in prediction.cnn])
    model = model_on(model, machine)
    inputs = configuration_inputs(model, nets, machine, configs, options.optimizer)
    shares = Scaled.of(model, system, inputs, options).shares(found.factors)
    intervals = {
        kind: {name: narrowed(known[name], prediction.outputs[name], shares[name], found, kind, wholes) for name in known}
        for kind, known in (("mean", prediction.confidence_interval), ("run", prediction.prediction_interval))
    }
    told = told_factors(found, prediction.prediction_interval[EPOCH].level)
    source = calibrated_sources(prediction.source, told)
    return replace(
        prediction,
        source=source,
        outside=calibrated_reasons(prediction.outside, source),
        confidence_interval=intervals["mean"],
        prediction_interval=intervals["run"],
        observed=told,
    )
