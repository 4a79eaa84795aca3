"""Component times of configurations nobody has run: their inputs joined with the fitted models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray, distinct_rows
from mlperf.core.errors import DataError
from mlperf.features.network.layer_terms import STANDING_IN_SPREAD, fitted_kernels
from mlperf.models.estimators.choice.form_average import FormAverage
from mlperf.models.uncertainty.residual_quantiles import draw_residuals
from mlperf.planning.inputs import ConfigurationInputs
from mlperf.planning.network_errors import network_errors, setting_errors
from mlperf.planning.step_prediction import StepCalls, predict_steps, step_seconds, step_spreads
from mlperf.specs.optimizers import MOMENTUM_SGD, pass_ratio
from mlperf.systems.base.collectives import allreduce_s
from mlperf.systems.base.times import ComponentTimes
from mlperf.systems.sprint.components import FITTED, SHARE_OPERATIONS
from mlperf.training.components.component_fit import ComponentModel
from mlperf.training.components.run_settings import spread_times
from mlperf.training.elsewhere import other_machine
from mlperf.training.gradient.gradient import EXPLAINED, PREDICTOR, GradientModel
from mlperf.training.gradient.other_device import SPREAD
from mlperf.training.gradient.work_model import WorkModel
from mlperf.training.model import Model
from mlperf.training.run_model import KnownSteps

BYTES_PER_PARAM = 4
LEAST_SHARE = 0.5
"""Of the predicted time of a step, what the linear model has to say of it for its spread to count over its own mean."""

FITTED_HERE, OTHER_MACHINE, ASSUMED, NONE_NEEDED = "model", "model of another machine", "assumed", "not needed"
NOT_MEASURED = "not measured, counted as 0"
NO_TIME = {
    ASSUMED: (
        "the equations work out from the machine's network",
        "Change latency_s or bandwidth_bytes_per_s in a machine file of your own (--machine FILE).",
    ),
    NOT_MEASURED: ("nobody measured: it counts as 0, and so it does a hundred times", "Leave it out."),
}
"""Why a component has no time to multiply, and what to do, by its source."""
RUNS = "runs"
"""Kind of draws of configurations that are compared with one another."""
MANY = 1000
"""Configurations from which on it pays to look for those that are alike."""
IN_DEVICE_MEMORY = "compute_update_value"
"""What reads and writes vectors in a device's own memory."""
GRADIENT, ALLREDUCE = "compute_gradient", "allreduce"
"""The component that is the sum of its kernels, and the one that a single node does not have."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictedTimes:
    """Mean component times of a set of configurations.

    Attributes
    ----------
    method : str
        How kernel times were predicted: a key of `mlperf.training.gradient.gradient.METHODS`.
    times : ComponentTimes
        Seconds of one occurrence, arrays of shape (n_configs,).
    in_domain : mapping of str to array, shape (n_configs,)
        By component: whether the configuration lies inside what was measured.
    source : mapping of str to str
        By component: ``model`` (fitted to measurements), ``model of another machine`` (whose processor is not the one asked
        about), ``assumed`` (from the machine's specification, or from the passes of another optimizer) or ``not needed`` (the
        exchange of one node with itself).
    other_machine : tuple of str
        How the machine asked about differs from the one that was measured; nothing is in the domain where it does.
    """

    method: str
    times: ComponentTimes
    in_domain: Mapping[str, BoolArray]
    source: Mapping[str, str]
    other_machine: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ComponentMean:
    """One component's mean seconds, its domain flags, and where they come from; arrays of shape (n_configs,)."""

    seconds: FloatArray
    inside: BoolArray
    source: str


def predict_times(model: Model, inputs: ConfigurationInputs, method: str = PREDICTOR) -> PredictedTimes:
    """Mean component times.

    Raises
    ------
    DataError
        A component has neither a model nor a figure in the machine's specification, a kernel was never measured, or a linear
        model predicts a negative time; names the network and the sub-batch.
    """
    means = {component.name: component_mean(model, inputs, component.name, method) for component in FITTED}
    for name, mean in means.items():
        refuse_negative(name, mean.seconds, inputs, method)
    alone = (inputs.configs["n_nodes"] == 1).to_numpy(bool)
    payload = means[ALLREDUCE]
    means[ALLREDUCE] = ComponentMean(np.where(alone, 0.0, payload.seconds), payload.inside | alone, payload.source)
    if inputs.optimizer != MOMENTUM_SGD:
        means |= {name: _other_optimizer(means[name], inputs.optimizer) for name in SHARE_OPERATIONS}
    differences = other_machine(model, inputs.machine)
    if differences:
        means = {name: _elsewhere(mean) for name, mean in means.items()}
    return PredictedTimes(
        method,
        _times(model, {name: mean.seconds for name, mean in means.items()}, _spreads(model, inputs, method)),
        {name: mean.inside for name, mean in means.items()},
        {name: mean.source for name, mean in means.items()},
        differences,
    )


def refuse_negative(name: str, seconds: FloatArray, inputs: ConfigurationInputs, method: str) -> None:
    """Raise DataError naming the first configuration of which a model says that a component takes less than no time."""
    negative = np.flatnonzero(seconds < 0.0)
    if not negative.size:
        return
    row = inputs.configs.iloc[int(negative[0])]
    other = f", or take --method {PREDICTOR}" if name == GRADIENT and method != PREDICTOR else ""
    raise DataError(
        f"got {seconds[negative[0]]:.3g} s for component {name!r} from the linear model, expected seconds >= 0",
        place=f"CNN {inputs.cnns[int(row['cnn'])].name!r}, sub-batch {row['subbatch_size']}",
        hint=f"It lies so far outside of what was measured that terms that subtract prevail: measure nearer to it{other}.",
    )


def explained_gradient(model: Model, inputs: ConfigurationInputs) -> FloatArray:
    """Time of the gradient by the explainable linear model, seconds, shape (n_configs,); far outside its terms may go below 0."""
    ratio = _factor(model, EXPLAINED) * _known_steps(model, inputs, EXPLAINED).ratio
    return np.asarray(ratio * step_seconds(model.gradient, inputs.steps, EXPLAINED))


def with_gradient(model: Model, predicted: PredictedTimes, gradient_s: FloatArray) -> ComponentTimes:
    """The same component times with another time of the gradient, seconds >= 0."""
    seconds = {component.name: getattr(predicted.times, component.column) for component in FITTED}
    own_s = seconds[GRADIENT]
    spread = np.divide(predicted.times.gpu_work_std_s, own_s, out=np.zeros_like(own_s), where=own_s > 0.0)
    return _times(model, {**seconds, GRADIENT: gradient_s}, spread)


def draw_times(
    model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes, *, kind: str, n_draws: int, rng: np.random.Generator
) -> ComponentTimes:
    """Joint draws of all component times, shape (n_draws, n_configs): of their means, of a run, or of runs side by side.

    ``kind="mean"`` draws the coefficients of the fits; ``"run"`` adds the error seen on left-out CNNs and the noise of one
    measurement, of each configuration by itself. ``"runs"`` adds errors of which what configurations have in common is drawn once:
    to compare them with one another (see `mlperf.planning.network_errors`). A component without a model does not vary. Costs of the
    same runs are drawn together: what is uncertain of the shape of one is so of all.
    """
    draws = Draws(kind, n_draws, int(rng.integers(2**63)), rng, predicted.method)
    seconds = {
        component.name: component_draws(model, inputs, component.name, getattr(predicted.times, component.column), draws)
        for component in FITTED
    }
    if inputs.optimizer != MOMENTUM_SGD:
        seconds |= {name: pass_ratio(inputs.optimizer) * seconds[name] for name in SHARE_OPERATIONS}
    seconds[ALLREDUCE] = np.where(inputs.configs["n_nodes"].to_numpy() == 1, 0.0, seconds[ALLREDUCE])
    return _times(model, seconds, _spreads(model, inputs, predicted.method))


@dataclass(frozen=True, slots=True)
class Draws:
    """How component times are drawn: as `draw_times` has it, how often, the seed that costs of the same runs share."""

    kind: str
    n_draws: int
    shared_seed: int
    rng: np.random.Generator
    method: str = PREDICTOR


def component_draws(model: Model, inputs: ConfigurationInputs, name: str, mean_s: FloatArray, draws: Draws) -> FloatArray:
    """Draws of one component, shape (n_draws, n_configs); its mean where no model gives it."""
    if name == GRADIENT:
        drawn, measured = _gradient_ratios(model, inputs, draws), _known_steps(model, inputs, draws.method).measured
        seconds = np.asarray(mean_s * np.where(measured, 1.0, drawn))
        return seconds * np.exp(_setting_errors(model, inputs, measured, draws)) if draws.kind == RUNS else seconds
    if name in _run_costs(model):
        rng = np.random.default_rng(draws.shared_seed)
        return _drawn_costs(_run_costs(model)[name], inputs.columns, rng, draws.n_draws, draws.kind)
    if name in model.components:
        drawn = _sampled(model.components[name], inputs.columns, draws.rng, draws.n_draws, draws.kind)
        return _memory_ratio(model, name) * drawn
    return mean_s


def is_measured(model: Model, name: str) -> bool:
    """Whether a model gives the component from measurements."""
    return name == GRADIENT or name in _run_costs(model) or name in model.components


def _times(model: Model, seconds: Mapping[str, FloatArray], step_spread: FloatArray) -> ComponentTimes:
    """With the spreads that the runs showed; without runs the step alone is known to vary, by that share of it."""
    by_column = {f"{name}_s": value for name, value in seconds.items()}
    if model.runs is not None:
        return spread_times(by_column, model.runs.fits.variation)
    return ComponentTimes(**by_column, gpu_work_std_s=step_spread * seconds[GRADIENT])


def _spreads(model: Model, inputs: ConfigurationInputs, method: str) -> FloatArray:
    """Of steps, where no run tells them."""
    return np.zeros(len(inputs.configs)) if model.runs is not None else step_spreads(model, inputs.steps, method)


def _run_costs(model: Model) -> Mapping[str, tuple[FormAverage, ...]]:
    return {} if model.runs is None else model.runs.fits.costs


def _factor(model: Model, method: str) -> float:
    """Time of a gradient in a run over that of its kernels measured alone."""
    return 1.0 if model.runs is None else float(np.exp(model.runs.log_factor.get(method, 0.0)))


def _known_steps(model: Model, inputs: ConfigurationInputs, method: str) -> KnownSteps:
    if model.runs is None:
        return KnownSteps(np.ones(len(inputs.configs)), np.zeros(len(inputs.configs), bool))
    return model.runs.step_ratios(inputs.run_keys, method)


def _known_layers(model: Model, inputs: ConfigurationInputs) -> BoolArray:
    """Whether all kinds of layers of each configuration's network were run, where whole steps alone tell of the gradient's time."""
    if model.runs is None or not isinstance(model.gradient, WorkModel):
        return np.ones(len(inputs.configs), bool)
    known = np.array([not model.runs.unseen_layers(cnn) for cnn in inputs.cnns])
    return np.asarray(known[inputs.configs["cnn"].to_numpy(int)])


def _drawn_costs(
    parts: Sequence[FormAverage], columns: pd.DataFrame, rng: np.random.Generator, n_draws: int, kind: str
) -> FloatArray:
    together = columns["n_nodes"].to_numpy() > 1
    # What nodes exchange has no meaning for one node; where all costs are drawn alike the rows left out do no harm.
    rows = columns[together] if any("n_nodes" in part.columns for part in parts) else columns
    drawn = np.sum([_sampled(part, rows, rng, n_draws, kind) for part in parts], axis=0) if len(rows) else np.empty((n_draws, 0))
    if len(rows) == len(columns):
        return np.asarray(drawn)
    found = np.zeros((n_draws, len(columns)))
    found[:, together] = drawn
    return found


def _sampled(
    fit: FormAverage | ComponentModel, rows: pd.DataFrame, rng: np.random.Generator, n_draws: int, kind: str
) -> FloatArray:
    """Draws of a fit, shape (n_draws, n_rows); of runs side by side one error for all rows of which it reads the same."""
    if kind != RUNS:
        return fit.sample(rows, rng, n_draws, kind)
    number, first = distinct_rows(*(rows[name].to_numpy(float) for name in fit.columns))
    return fit.sample(rows.iloc[first], rng, n_draws, "run")[:, number]


def _step_cv(model: Model) -> float:
    return model.score.step_cv if np.isfinite(model.score.step_cv) else 0.0


def component_mean(model: Model, inputs: ConfigurationInputs, name: str, method: str = PREDICTOR) -> ComponentMean:
    """Mean seconds of one component of `mlperf.systems.sprint.components.FITTED`.

    Raises
    ------
    DataError
        It has neither a model nor a figure in the machine's specification, or a kernel was never measured.
    """
    if name == GRADIENT:
        steps = predict_steps(model.gradient, inputs.steps, method)
        known = _known_steps(model, inputs, method)
        inside = (steps.in_domain & _known_layers(model, inputs)) | known.measured
        return ComponentMean(_factor(model, method) * known.ratio * steps.step_s, inside, FITTED_HERE)
    if name in _run_costs(model):
        return _of_runs(name, _run_costs(model)[name], inputs.columns)
    if name not in model.components:
        return _assumed(name, inputs)
    fitted = model.components[name]
    rows, number = _alike(inputs.columns, fitted.columns)
    seconds = _memory_ratio(model, name) * fitted.predict(rows)
    return ComponentMean(seconds[number], fitted.in_domain(rows)[number], FITTED_HERE)


def _memory_ratio(model: Model, name: str) -> float:
    """What another device's memory makes of a component that goes through it; copies from and to the host stay as measured."""
    device = model.gradient.device if isinstance(model.gradient, GradientModel) else None
    return device.bandwidth_ratio if device is not None and name == IN_DEVICE_MEMORY else 1.0


def _alike(columns: pd.DataFrame, read: Sequence[str]) -> tuple[pd.DataFrame, IntArray | slice]:
    """Rows that differ in what a model reads, and the number of each configuration's: a million have a few sizes of a network."""
    if len(columns) < MANY:
        return columns, slice(None)
    number, first = distinct_rows(*(columns[name].to_numpy(float) for name in read))
    return columns.iloc[first], number


def _other_optimizer(measured: ComponentMean, optimizer: str) -> ComponentMean:
    """The update thread's work on the momentum as so many more or fewer passes over vectors; nobody measured it."""
    return ComponentMean(pass_ratio(optimizer) * measured.seconds, measured.inside, ASSUMED)


def _elsewhere(mean: ComponentMean) -> ComponentMean:
    """What was fitted on another processor: nothing was measured near it."""
    return (
        mean
        if mean.source in (ASSUMED, NONE_NEEDED)
        else ComponentMean(mean.seconds, np.zeros(len(mean.seconds), bool), OTHER_MACHINE)
    )


def _of_runs(name: str, parts: Sequence[FormAverage], columns: pd.DataFrame) -> ComponentMean:
    seconds, inside = np.zeros(len(columns)), np.ones(len(columns), bool)
    asked = (columns["n_nodes"] > 1).to_numpy(bool) if name == ALLREDUCE else inside.copy()
    if asked.any():
        rows = columns[asked]
        seconds[asked] = np.sum([part.predict(rows) for part in parts], axis=0)
        inside[asked] = np.logical_and.reduce([part.in_domain(rows) for part in parts])
    return ComponentMean(seconds, inside, FITTED_HERE)


def _assumed(name: str, inputs: ConfigurationInputs) -> ComponentMean:
    machine, columns = inputs.machine, inputs.columns
    if name == ALLREDUCE and (inputs.configs["n_nodes"] == 1).all():
        return ComponentMean(np.zeros(len(columns)), np.ones(len(columns), bool), NONE_NEEDED)
    if name != ALLREDUCE or machine.latency_s is None or machine.bandwidth_bytes_per_s is None:
        raise DataError(
            f"component {name!r} was not measured and the machine's specification does not give it",
            place=f"machine {machine.name!r}",
            hint="Collect it (`mlperf collect updates`)"
            if name != ALLREDUCE
            else "Give latency_s and bandwidth_bytes_per_s of its network.",
        )
    size_bytes = BYTES_PER_PARAM * columns["n_params"].to_numpy(float)
    seconds = allreduce_s("ring", size_bytes, columns["n_nodes"].to_numpy(float), machine.latency_s, machine.bandwidth_bytes_per_s)
    return ComponentMean(seconds, np.zeros(len(columns), bool), ASSUMED)


def _gradient_ratios(model: Model, inputs: ConfigurationInputs, draws: Draws) -> FloatArray:
    """Drawn step time over its mean, shape (n_draws, n_configs)."""
    steps, n_draws, rng = inputs.steps, draws.n_draws, draws.rng
    if isinstance(model.gradient, WorkModel):
        kind = "run" if draws.kind == RUNS else draws.kind
        return model.gradient.step_ratios(steps.calls, rng, n_draws, kind)[:, steps.number]
    ratios = _coefficient_ratios(model.gradient, steps, draws.method, n_draws, rng)
    if draws.kind == "run":
        ratios = ratios * np.exp(_left_out_errors(model, draws.method, (n_draws, steps.n_steps), rng))
    if draws.kind == RUNS:
        errors = network_errors(model.score.step_residuals(draws.method), inputs.configs, n_draws, rng)
        return ratios[:, steps.number] * np.exp(errors)
    return ratios[:, steps.number]


def _setting_errors(model: Model, inputs: ConfigurationInputs, measured: BoolArray, draws: Draws) -> FloatArray:
    """What settings err by beside their step: as those whose step was run do, or as those of networks that were left out."""
    if model.runs is None:
        return np.zeros((draws.n_draws, len(measured)))
    tables = (model.runs.setting_residuals, model.runs.residuals)
    of_known, of_others = (setting_errors(table, inputs.configs, draws.n_draws, draws.rng) for table in tables)
    return np.where(measured, of_known, of_others)


def _coefficient_ratios(
    gradient: GradientModel, steps: StepCalls, method: str, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Step time under drawn coefficients of the linear kernel models over its mean, shape (n_draws, n_steps).

    What a device waits for its host no coefficient of a kernel makes uncertain. Far outside of what was measured the mean may be a
    small rest of large terms, or below 0: what is drawn around it then counts over `LEAST_SHARE` of the time predicted.
    """
    calls = steps.calls.reset_index(drop=True)
    drawn, centre = np.empty((n_draws, len(calls))), np.empty(len(calls))
    for kernel, rows in calls.groupby(fitted_kernels(calls), sort=True):
        instead = gradient.fitted_as(str(kernel))
        fit = gradient.kernels[instead][EXPLAINED]
        drawn[:, rows.index] = fit.sample(rows, rng, n_draws, "mean")
        if instead != kernel:
            drawn[:, rows.index] *= np.exp(STANDING_IN_SPREAD * rng.standard_normal((n_draws, 1)))
        centre[rows.index] = fit.predict(rows)
    strays = np.ones(n_draws) if gradient.device is None else np.exp(SPREAD * rng.standard_normal(n_draws))
    carried = (gradient.carried_over(calls, each, stray) for each, stray in zip(drawn, strays, strict=True))
    seconds = np.array([gradient.step_times(calls, each) for each in carried])
    mean_s = gradient.step_times(calls, gradient.carried_over(calls, centre))
    least_s = LEAST_SHARE * gradient.step_times(calls, steps.call_times(gradient, method))
    return np.maximum(1.0 + (seconds - mean_s) / np.maximum(mean_s, least_s), 0.0)


def _left_out_errors(model: Model, method: str, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    residuals = model.score.log_residuals(method)
    return draw_residuals(residuals, shape, rng) + _step_cv(model) * rng.standard_normal(shape)
