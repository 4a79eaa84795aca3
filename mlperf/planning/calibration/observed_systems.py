"""A few measured steps of any system: one factor a component, with shares from its own equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.datasets.joining.join import Table
from mlperf.models.uncertainty.log_factors import LogFactors, update_log_factors
from mlperf.planning.calibration.narrowing import combined, log_std, narrowed, prior_spread, told_factors
from mlperf.planning.calibration.observed_rows import SIZES, ObservedRows, measured_ratios, read_observed
from mlperf.planning.component_times import Draws
from mlperf.planning.inputs import ConfigurationInputs, configuration_inputs, machine_of, networks, of_job
from mlperf.planning.limits import check_limits
from mlperf.planning.systems.configurations import network_settings, run_of
from mlperf.planning.systems.predict import SystemOptions, on_rows, output_intervals, predict_system, refuse_impossible, solved
from mlperf.planning.systems.prediction import SystemPrediction
from mlperf.planning.systems.times import SystemTimes, draw_system_times, system_times
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.systems.base.system import EPOCH, Refusing, System
from mlperf.systems.registry import find_system
from mlperf.training.model import Model

STEP = 0.01
"""Change of a component's logarithm for the shares of an output."""
N_STEPS = 4
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
        With ``observed``, the table of factors. What the equations work out of the machine's figures has no factor.

    Raises
    ------
    DataError
        The table has no such column, a network that nobody knows, a value that is not > 0, or a configuration that cannot run.
    UsageError
        The model gives no component of the system.
    """
    found = find_system(system) if isinstance(system, str) else system
    nets, where = networks(cnn), machine_of(machine)
    known = {setting.name: setting.default for setting in found.settings} | network_settings(found, nets) | dict(settings or {})
    asked = {name: options.get(name) for name in SIZES} | known
    components = [component.name for component in found.components if component.kind != "coupling"]
    columns = {f"{name}_s": name for name in components} | {name: name for name in found.outputs}
    rows = read_observed(observed, nets, where, job, columns, asked)
    check_limits(where, rows.cnns, rows.configs, memory=not isinstance(found, Refusing))
    passed: dict[str, Any] = {name: options[name] for name in PASSED if name in options}
    factors = system_factors(model, found, rows, where, SystemOptions(**of_job(job, passed)))
    given = {**options, "factors": combined(options.get("factors"), factors.factors)}
    prediction = predict_system(model, found, nets, where, job, settings=settings, **given)
    return _narrowed_prediction(model, found, nets, where, prediction, factors, SystemOptions(**of_job(job, passed)))


def system_factors(model: Model, system: System, rows: ObservedRows, machine: MachineSpec, options: SystemOptions) -> LogFactors:
    """Factors of a system's components after the measurements, linear in logarithms about the factors found so far.

    Raises
    ------
    UsageError
        The model gives no time of the system's components, or none of what was measured.
    """
    inputs = configuration_inputs(model, rows.cnns, machine, rows.configs, options.optimizer)
    refuse_impossible(system, run_of(inputs, system), inputs)
    plain = system_times(model, inputs, system, options.method, options.exchange).scaled(options.factors)
    names = factor_names(plain)
    absent = [name for name in rows.measured if name not in names and name not in system.outputs]
    if absent or not names:
        got = f"the model has no time of {', '.join(absent) or 'any component'} of the system {system.name!r}"
        raise UsageError(got, hint="Measure an output instead, such as step_s.")
    prior = _prior(model, system, inputs, plain, names, options)
    found = update_log_factors(names, prior, np.empty((0, len(names))), np.empty(0), np.empty(0, np.int64))
    for _ in range(N_STEPS):
        times = plain.scaled(found.factors)
        shares = output_shares(system, times, inputs, names)
        outputs = solved(system, times.seconds, run_of(inputs, system)).outputs
        expected = {name: outputs[name] if name in outputs else times.seconds[name] for name in rows.measured}
        expected = {name: on_rows(value, len(inputs.configs)) for name, value in expected.items()}
        told = measured_ratios(rows, names, expected, {name: shares[name] for name in rows.measured if name in shares})
        found = update_log_factors(names, prior, told.shares, told.log_ratio + found.log_shift(told.shares), told.column)
    return found


def factor_names(times: SystemTimes) -> tuple[str, ...]:
    """Components that the model gives a time of, in the table's order."""
    return tuple(name for name, seconds in times.seconds.items() if not name.endswith("_std") and np.any(seconds > 0.0))


def output_shares(system: System, times: SystemTimes, inputs: ConfigurationInputs, names: tuple[str, ...]) -> dict[str, FloatArray]:
    """Change of the logarithm of each output with that of each component, by name: shape (n_configs, n_components)."""
    run, n_rows = run_of(inputs, system), len(inputs.configs)
    base = solved(system, times.seconds, run).outputs
    found = {name: np.zeros((n_rows, len(names))) for name in system.outputs}
    for column, name in enumerate(names):
        moved = solved(system, times.scaled({name: float(np.exp(STEP))}).seconds, run).outputs
        for output in system.outputs:
            before, after = (on_rows(outputs[output], n_rows) for outputs in (base, moved))
            there = (before > 0.0) & (after > 0.0) & np.isfinite(before) & np.isfinite(after)
            found[output][there, column] = np.log(after[there] / before[there]) / STEP
    return found


def _prior(
    model: Model, system: System, inputs: ConfigurationInputs, times: SystemTimes, names: tuple[str, ...], options: SystemOptions
) -> FloatArray:
    """What the model does not know of each component's logarithm, shape (n_components,): from draws of one run."""
    rng = np.random.default_rng(options.seed)
    draws = Draws("run", options.n_draws, int(rng.integers(2**63)), rng, options.method)
    drawn = draw_system_times(model, inputs, system, times, draws, options.exchange)
    spread = np.array([log_std(drawn[name]) for name in names])
    solution = solved(system, times.seconds, run_of(inputs, system))
    interval = output_intervals(model, inputs, system, times, solution, options, "run")[EPOCH]
    return prior_spread(spread, output_shares(system, times, inputs, names)[EPOCH], interval)


def _narrowed_prediction(
    model: Model,
    system: System,
    nets: list[Any],
    machine: MachineSpec,
    prediction: SystemPrediction,
    found: LogFactors,
    options: SystemOptions,
) -> SystemPrediction:
    """The prediction with the intervals that the factors leave."""
    numbers = {net.name: number for number, net in enumerate(nets)}
    configs = prediction.configs.assign(cnn=[numbers[name] for name in prediction.cnn])
    inputs = configuration_inputs(model, nets, machine, configs, options.optimizer)
    times = system_times(model, inputs, system, options.method, options.exchange)
    shares = output_shares(system, times.scaled(combined(options.factors, found.factors)), inputs, found.names)
    intervals = {
        kind: {name: narrowed(known[name], prediction.outputs[name], shares[name], found, kind) for name in known}
        for kind, known in (("mean", prediction.confidence_interval), ("run", prediction.prediction_interval))
    }
    level = prediction.prediction_interval[EPOCH].level
    return replace(
        prediction,
        confidence_interval=intervals["mean"],
        prediction_interval=intervals["run"],
        observed=told_factors(found, level),
    )
