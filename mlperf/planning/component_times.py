"""Component times of configurations nobody has run: their inputs joined with the fitted models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, DomainError
from mlperf.planning.inputs import ConfigurationInputs
from mlperf.planning.step_prediction import StepCalls, predict_steps, step_seconds
from mlperf.systems.base.collectives import allreduce_s
from mlperf.systems.base.times import ComponentTimes
from mlperf.systems.sprint.components import FITTED
from mlperf.training.gradient.gradient import EXPLAINED, PREDICTOR
from mlperf.training.model import Model

BYTES_PER_PARAM = 4
MEASURED, ASSUMED = "measured", "assumed"
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
        By component: ``measured`` or ``assumed`` (from the machine's specification).
    """

    method: str
    times: ComponentTimes
    in_domain: Mapping[str, BoolArray]
    source: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class _Mean:
    """One component's mean seconds, its domain flags, and where they come from."""

    seconds: FloatArray
    inside: BoolArray
    source: str


def predict_times(model: Model, inputs: ConfigurationInputs, method: str = PREDICTOR) -> PredictedTimes:
    """Mean component times.

    Raises
    ------
    DataError
        A component has neither a model nor a figure in the machine's specification, or a kernel was never measured.
    """
    means = {component.name: _mean(model, inputs, component.name, method) for component in FITTED}
    alone = (inputs.configs["n_nodes"] == 1).to_numpy(bool)
    payload = means[ALLREDUCE]
    means[ALLREDUCE] = _Mean(np.where(alone, 0.0, payload.seconds), payload.inside | alone, payload.source)
    work_std_s = _step_cv(model) * means[GRADIENT].seconds
    return PredictedTimes(
        method,
        _times({name: mean.seconds for name, mean in means.items()}, work_std_s),
        {name: mean.inside for name, mean in means.items()},
        {name: mean.source for name, mean in means.items()},
    )


def explained_times(model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes) -> ComponentTimes:
    """The same component times with kernel times from the explainable linear model."""
    gradient_s = step_seconds(model.gradient, inputs.steps, EXPLAINED)
    return replace(predicted.times, compute_gradient_s=gradient_s, gpu_work_std_s=_step_cv(model) * gradient_s)


def draw_times(
    model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes, *, kind: str, n_draws: int, rng: np.random.Generator
) -> ComponentTimes:
    """Joint draws of all component times, shape (n_draws, n_configs): of their means or of a run.

    ``kind="mean"`` draws the coefficients of the fits; ``"run"`` adds the error seen on left-out CNNs and the noise of one
    measurement. A component without a model does not vary.
    """
    seconds: dict[str, FloatArray] = {}
    for component in FITTED:
        name = component.name
        if name == GRADIENT:
            ratios = _gradient_ratios(model, inputs.steps, predicted.method, kind, n_draws, rng)
            seconds[name] = predicted.times.compute_gradient_s * ratios
        elif name in model.components:
            drawn = model.components[name].selected.sample(inputs.columns, rng, n_draws, kind)
            seconds[name] = np.maximum(drawn, 0.0)
        else:
            seconds[name] = getattr(predicted.times, component.column)
    seconds[ALLREDUCE] = np.where(inputs.configs["n_nodes"].to_numpy() == 1, 0.0, seconds[ALLREDUCE])
    return _times(seconds, predicted.times.gpu_work_std_s)


def refuse_outside(predicted: PredictedTimes, inputs: ConfigurationInputs, rows: IntArray | None = None) -> None:
    """Raise DomainError naming the first component and configuration (of ``rows``) outside the measured domain."""
    asked = np.arange(len(inputs.configs)) if rows is None else rows
    for name, inside in predicted.in_domain.items():
        outside = asked[~inside[asked]]
        if outside.size:
            row = inputs.configs.iloc[int(outside[0])]
            size = f"{row['n_nodes']} nodes x {row['n_gpus_per_node']} GPUs, sub-batch {row['subbatch_size']}"
            raise DomainError(
                f"component {name!r} lies outside the measured domain",
                place=f"CNN {inputs.cnns[int(row['cnn'])].name!r}, {size}",
                hint="Measure nearer to it, or drop --strict and read the in-domain flags.",
            )


def _times(seconds: Mapping[str, FloatArray], work_std_s: FloatArray) -> ComponentTimes:
    return ComponentTimes(**{f"{name}_s": value for name, value in seconds.items()}, gpu_work_std_s=work_std_s)


def _step_cv(model: Model) -> float:
    return model.score.step_cv if np.isfinite(model.score.step_cv) else 0.0


def _mean(model: Model, inputs: ConfigurationInputs, name: str, method: str) -> _Mean:
    if name == GRADIENT:
        steps = predict_steps(model.gradient, inputs.steps, method)
        return _Mean(steps.step_s, steps.in_domain, MEASURED)
    if name not in model.components:
        return _assumed(name, inputs)
    fitted = model.components[name]
    predicted = fitted.predict(inputs.columns)
    # A negative time cannot be right: it is shown as zero and flagged as outside the domain.
    return _Mean(np.maximum(predicted, 0.0), fitted.in_domain(inputs.columns) & (predicted >= 0.0), MEASURED)


def _assumed(name: str, inputs: ConfigurationInputs) -> _Mean:
    machine, columns = inputs.machine, inputs.columns
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
    return _Mean(seconds, np.zeros(len(columns), bool), ASSUMED)


def _gradient_ratios(model: Model, steps: StepCalls, method: str, kind: str, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Drawn step time over its mean, shape (n_draws, n_configs)."""
    ratios = _coefficient_ratios(model, steps, n_draws, rng)
    if kind == "run":
        ratios = ratios * np.exp(_left_out_errors(model, method, (n_draws, steps.n_steps), rng))
    return ratios[:, steps.number]


def _coefficient_ratios(model: Model, steps: StepCalls, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Step time under drawn coefficients of the linear kernel models over its mean, shape (n_draws, n_steps)."""
    drawn = np.zeros((n_draws, steps.n_steps))
    centre = np.zeros(steps.n_steps)
    for kernel, rows in steps.calls.groupby("kernel", sort=True):
        fit = model.gradient.kernels[str(kernel)][EXPLAINED]
        runs = rows["run"].to_numpy(int)
        np.add.at(drawn.T, runs, fit.sample(rows, rng, n_draws, "mean").T)
        np.add.at(centre, runs, fit.predict(rows))
    return np.maximum(drawn / centre, 0.0)


def _left_out_errors(model: Model, method: str, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    residuals = model.score.log_residuals(method)
    return rng.choice(residuals, size=shape) + _step_cv(model) * rng.standard_normal(shape)
