"""Component times of configurations nobody has run: features of the run joined with the fitted models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.features.network.components import component_columns
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.base.collectives import allreduce_s
from mlperf.systems.base.times import ComponentTimes
from mlperf.systems.sprint.components import FITTED
from mlperf.training.gradient.gradient import EXPLAINED, PREDICTOR, step_times, steps_in_domain
from mlperf.training.model import Model

BYTES_PER_PARAM = 4
MEASURED, ASSUMED = "measured", "assumed"


@dataclass(frozen=True, slots=True, eq=False)
class PredictedTimes:
    """Component times of a set of configurations.

    Attributes
    ----------
    times : ComponentTimes
        Seconds of one occurrence, arrays of shape (n_configs,) or (n_draws, n_configs).
    in_domain : mapping of str to array, shape (n_configs,)
        By component: whether the configuration lies inside what was measured.
    source : mapping of str to str
        By component: ``measured`` or ``assumed`` (from the machine's specification).
    """

    times: ComponentTimes
    in_domain: Mapping[str, BoolArray]
    source: Mapping[str, str]


def predict_times(
    model: Model, cnns: Sequence[CnnSpec], machine: MachineSpec, configs: pd.DataFrame, method: str = PREDICTOR
) -> PredictedTimes:
    """Mean component times.

    Raises
    ------
    DataError
        A component has neither a model nor a figure in the machine's specification, or a kernel was never measured.
    """
    inputs = component_columns(configs, cnns)
    seconds: dict[str, FloatArray] = {}
    inside: dict[str, BoolArray] = {}
    source: dict[str, str] = {}
    for component in FITTED:
        name = component.name
        source[name] = MEASURED if name == "compute_gradient" or name in model.components else ASSUMED
        if name == "compute_gradient":
            seconds[name], inside[name] = _gradient(model, cnns, configs, method)
        elif name in model.components:
            predicted = model.components[name].predict(inputs)
            # A negative time cannot be right: it is shown as zero and flagged as outside the domain.
            seconds[name], inside[name] = np.maximum(predicted, 0.0), model.components[name].in_domain(inputs) & (predicted >= 0.0)
        else:
            seconds[name], inside[name] = _assumed(name, machine, inputs)
    alone = (configs["n_nodes"] == 1).to_numpy(bool)
    seconds["allreduce"] = np.where(alone, 0.0, seconds["allreduce"])
    inside["allreduce"] = inside["allreduce"] | alone
    work_std_s = _step_cv(model) * seconds["compute_gradient"]
    return PredictedTimes(_times(seconds, work_std_s), inside, source)


def draw_times(
    model: Model,
    cnns: Sequence[CnnSpec],
    machine: MachineSpec,
    configs: pd.DataFrame,
    *,
    kind: str,
    n_draws: int,
    rng: np.random.Generator,
    method: str = PREDICTOR,
) -> ComponentTimes:
    """Joint draws of all component times, shape (n_draws, n_configs): of their means or of a run.

    ``kind="mean"`` draws the coefficients of the fits; ``"run"`` adds the error seen on left-out CNNs and the noise of one
    measurement. A component without a model does not vary.
    """
    mean = predict_times(model, cnns, machine, configs, method)
    inputs = component_columns(configs, cnns)
    seconds: dict[str, FloatArray] = {}
    for component in FITTED:
        name = component.name
        if name == "compute_gradient":
            seconds[name] = mean.times.compute_gradient_s * _gradient_ratios(model, cnns, configs, kind, n_draws, rng, method)
        elif name in model.components:
            drawn = model.components[name].selected.sample(inputs, rng, n_draws, kind)
            seconds[name] = np.maximum(drawn, 0.0)
        else:
            seconds[name] = getattr(mean.times, component.column)
    seconds["allreduce"] = np.where(configs["n_nodes"].to_numpy() == 1, 0.0, seconds["allreduce"])
    return _times(seconds, mean.times.gpu_work_std_s)


def _times(seconds: Mapping[str, FloatArray], work_std_s: FloatArray) -> ComponentTimes:
    return ComponentTimes(**{f"{name}_s": value for name, value in seconds.items()}, gpu_work_std_s=work_std_s)


def _step_cv(model: Model) -> float:
    return model.score.step_cv if np.isfinite(model.score.step_cv) else 0.0


def _distinct_steps(configs: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Each (CNN, sub-batch) pair once, and which of them every configuration is."""
    steps = configs[["cnn", "subbatch_size"]].drop_duplicates(ignore_index=True)
    number = configs[["cnn", "subbatch_size"]].merge(steps.reset_index(names="step"), how="left")["step"].to_numpy(int)
    return steps, number


def _gradient(model: Model, cnns: Sequence[CnnSpec], configs: pd.DataFrame, method: str) -> tuple[FloatArray, BoolArray]:
    steps, number = _distinct_steps(configs)
    calls = model.gradient.calls((cnns[cnn], size) for cnn, size in steps.itertuples(index=False))
    times = model.gradient.call_times(calls, method)
    inside = steps_in_domain(calls, times, model.gradient.calls_in_domain(calls))
    return step_times(calls, times)[number], inside[number]


def _gradient_ratios(
    model: Model, cnns: Sequence[CnnSpec], configs: pd.DataFrame, kind: str, n_draws: int, rng: np.random.Generator, method: str
) -> FloatArray:
    steps, number = _distinct_steps(configs)
    calls = model.gradient.calls((cnns[cnn], size) for cnn, size in steps.itertuples(index=False))
    ratios = _coefficient_ratios(model, calls, n_draws, rng)
    if kind == "run":
        ratios = ratios * np.exp(_left_out_errors(model, method, (n_draws, len(steps)), rng))
    return ratios[:, number]


def _coefficient_ratios(model: Model, calls: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Step time under drawn coefficients of the linear kernel models over its mean, shape (n_draws, n_steps)."""
    n_steps = int(calls["run"].max()) + 1
    drawn = np.zeros((n_draws, n_steps))
    centre = np.zeros(n_steps)
    for kernel, rows in calls.groupby("kernel", sort=True):
        fit = model.gradient.kernels[str(kernel)][EXPLAINED]
        runs = rows["run"].to_numpy(int)
        np.add.at(drawn.T, runs, fit.sample(rows, rng, n_draws, "mean").T)
        np.add.at(centre, runs, fit.predict(rows))
    return np.maximum(drawn / centre, 0.0)


def _left_out_errors(model: Model, method: str, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    residuals = model.score.log_residuals(method)
    return rng.choice(residuals, size=shape) + _step_cv(model) * rng.standard_normal(shape)


def _assumed(name: str, machine: MachineSpec, inputs: pd.DataFrame) -> tuple[FloatArray, BoolArray]:
    if name != "allreduce" or machine.latency_s is None or machine.bandwidth_bytes_per_s is None:
        raise DataError(
            f"component {name!r} was not measured and the machine's specification does not give it",
            place=f"machine {machine.name!r}",
            hint="Collect it (`mlperf collect updates`)"
            if name != "allreduce"
            else "Give latency_s and bandwidth_bytes_per_s of its network.",
        )
    size_bytes = BYTES_PER_PARAM * inputs["n_params"].to_numpy(float)
    seconds = allreduce_s("ring", size_bytes, inputs["n_nodes"].to_numpy(float), machine.latency_s, machine.bandwidth_bytes_per_s)
    return seconds, np.zeros(len(inputs), bool)
