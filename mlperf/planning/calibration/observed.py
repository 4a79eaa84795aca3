"""A few measured steps of the user's: one factor a component, and predictions that follow them with narrower intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.joining.join import Side, Table, read_side
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.log_factors import LogFactors, update_log_factors
from mlperf.planning.calibration.pairs import check_positive
from mlperf.planning.component_times import PredictedTimes, draw_times, predict_times
from mlperf.planning.inputs import ConfigurationInputs, configuration_inputs, machine_of, networks, of_job
from mlperf.planning.limits import check_limits
from mlperf.planning.means import mean_prediction, solve_means
from mlperf.planning.options import PredictionOptions
from mlperf.planning.predict import predict_configurations, predict_epoch
from mlperf.planning.run_prediction import Prediction
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.zoo.zoo import find_cnn
from mlperf.systems.base.times import ComponentTimes
from mlperf.systems.sprint.components import FITTED
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.training.model import Model

COMPONENTS = tuple(component.name for component in FITTED)
COLUMNS = {component.column: component.name for component in FITTED}
TIMES = {
    "step_s": "gpu_iteration_s",
    "gpu_iteration_s": "gpu_iteration_s",
    "update_iteration_s": "update_iteration_s",
    "epoch_s": "epoch_s",
}
"""Columns that hold a sum of components, and the output that it is."""
SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")
N_STEPS = 4
"""Gauss-Newton steps; sums of a few components need no more."""
LEAST_STD = 1e-3
"""Of what a model says that it knows exactly; nobody knows a time better."""


@dataclass(frozen=True, slots=True, eq=False)
class ObservedRows:
    """Measured steps: their configurations, and what was measured of each.

    Attributes
    ----------
    cnns : tuple of CnnSpec
        Networks that ``configs["cnn"]`` counts from 0.
    configs : DataFrame
        One row a measured configuration: ``cnn, n_nodes, n_gpus_per_node, subbatch_size, dataset_size``.
    measured : mapping of str to array
        Component or output to seconds, NaN where a cell is empty.
    """

    cnns: tuple[CnnSpec, ...]
    configs: pd.DataFrame
    measured: Mapping[str, FloatArray]


def predict_observed(
    model: Model, cnn: Any, machine: MachineSpec | Any, job: JobSpec, observed: Table, **options: Any
) -> Prediction:
    """Predict epochs as `mlperf.predict_epoch` does, after a few measurements on the machine asked about.

    Every component has one factor between 1 and what was measured, by how much the model knows of it and how much the measurements
    scatter. Times are predicted with the factors; intervals are as much narrower as the factors are known better.

    Parameters
    ----------
    model, cnn, machine, job, **options
        As `mlperf.predict_epoch` takes them.
    observed : DataFrame, str or Path
        One row a measured configuration: ``cnn`` (may be left out where one is asked about), ``n_nodes``, ``n_gpus_per_node``,
        ``subbatch_size`` (left out: the machine's and the job's), and seconds: components (``compute_gradient_s``) or whole
        iterations (``step_s`` or ``gpu_iteration_s``, ``update_iteration_s``, ``epoch_s``).

    Returns
    -------
    Prediction
        With ``observed``, the table of factors.

    Raises
    ------
    DataError
        The table has no such column, a network that nobody knows, or a time that is not > 0.
    """
    asked = networks(cnn)
    where = machine_of(machine)
    rows = read_observed(observed, asked, where, job)
    plain = {name: options[name] for name in ("method", "level", "n_draws", "seed", "closed", "factors") if name in options}
    found = observed_factors(model, rows, where, PredictionOptions(**of_job(job, plain)))
    factors = combined(options.get("factors"), found.factors)
    prediction = predict_epoch(model, asked, where, job, **{**options, "factors": factors})
    narrowed = {
        name: {output: _narrowed(prediction, intervals, output, found, name) for output in OUTPUTS}
        for name, intervals in (("mean", prediction.confidence_interval), ("run", prediction.prediction_interval))
    }
    table = found.to_table(next(iter(prediction.prediction_interval.values())).level)
    told = table[table["measured_share"] > 0.0].reset_index(drop=True)
    return replace(prediction, confidence_interval=narrowed["mean"], prediction_interval=narrowed["run"], observed=told)


def read_observed(observed: Table, cnns: Sequence[CnnSpec], machine: MachineSpec, job: JobSpec) -> ObservedRows:
    """Read measured steps; see `predict_observed`."""
    side = read_side(observed, "observed", "keep")
    frame = side.frame
    values = {str(name): str(name) for name in frame if str(name) in COLUMNS or str(name) in TIMES}
    known = ("cnn", *SIZES, "dataset_size", *COLUMNS, *TIMES)
    strange = [str(name) for name in frame if str(name) not in known]
    if strange or not values:
        got = f"got column {strange[0]!r}" if strange else "got no measured time"
        hint = did_you_mean(strange[0], known) if strange else "Such as step_s or compute_gradient_s."
        raise DataError(
            f"{got}, expected columns among {', '.join(known)}",
            place=side.header_place(strange[0] if strange else "step_s"),
            hint=hint,
        )
    for name in values:
        check_positive(side, name)
    nets, number = _observed_networks(side, cnns)
    given = {"n_nodes": job.n_nodes, "n_gpus_per_node": machine.n_gpus_per_node, "subbatch_size": job.subbatch_size}
    given["dataset_size"] = job.dataset_size
    sizes = {name: frame[name].to_numpy(int) if name in frame else default for name, default in given.items()}
    configs = pd.DataFrame({"cnn": number, **sizes})
    check_limits(machine, nets, configs)
    measured = {COLUMNS.get(name, TIMES.get(name, name)): frame[name].to_numpy(float) for name in values}
    return ObservedRows(tuple(nets), configs, measured)


def _observed_networks(side: Side, cnns: Sequence[CnnSpec]) -> tuple[list[CnnSpec], IntArray]:
    """Networks of the rows, and the number of each row's: those asked about by name, else shipped ones."""
    if "cnn" not in side.frame:
        if len(cnns) != 1:
            raise DataError(
                f"has no column cnn, expected one: {len(cnns)} networks are asked about", place=side.header_place("cnn")
            )
        return list(cnns), np.zeros(len(side.frame), np.int64)
    by_name = {each.name: each for each in cnns}
    names = [str(name) for name in pd.unique(side.frame["cnn"])]
    nets = [by_name[name] if name in by_name else find_cnn(name) for name in names]
    return nets, side.frame["cnn"].astype(str).map({name: at for at, name in enumerate(names)}).to_numpy(np.int64)


def observed_factors(model: Model, rows: ObservedRows, machine: MachineSpec, options: PredictionOptions) -> LogFactors:
    """Factors of the components after the measurements; sums are taken as linear in logarithms about the factors found so far."""
    inputs = configuration_inputs(model, rows.cnns, machine, rows.configs, options.optimizer)
    options = replace(options, distributions=False)
    prediction = predict_configurations(model, rows.cnns, machine, rows.configs, options)
    prior = prior_spread(model, inputs, predict_times(model, inputs, options.method), prediction, options)
    found = update_log_factors(COMPONENTS, prior, np.empty((0, len(COMPONENTS))), np.empty(0), np.empty(0, np.int64))
    for _ in range(N_STEPS):
        factors = combined(options.factors, found.factors)
        means = solve_means(model, inputs, replace(options, factors=factors))
        shares, ratios, columns = measured_ratios(rows, mean_prediction(model, inputs, means), means.times)
        found = update_log_factors(COMPONENTS, prior, shares, ratios + found.log_shift(shares), columns)
    return found


def measured_ratios(rows: ObservedRows, prediction: Prediction, times: ComponentTimes) -> tuple[FloatArray, FloatArray, IntArray]:
    """Shares of the components, log(measured / predicted) and kind of each measurement: arrays of n_measurements rows."""
    shares, ratios, columns = [], [], []
    for number, (name, measured) in enumerate(rows.measured.items()):
        if name in COMPONENTS:
            own = np.tile(np.eye(len(COMPONENTS))[COMPONENTS.index(name)], (len(measured), 1))
            expected = np.broadcast_to(getattr(times, f"{name}_s"), measured.shape)
        else:
            own, expected = output_shares(prediction, name), getattr(prediction, name)
        # The exchange of one node with itself takes no time, whatever was measured of it.
        told = expected > 0.0
        shares.append(own[told])
        ratios.append(np.log(measured[told] / expected[told]))
        columns.append(np.full(int(told.sum()), number))
    return np.vstack(shares), np.concatenate(ratios), np.concatenate(columns)


def prior_spread(
    model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes, prediction: Prediction, options: PredictionOptions
) -> FloatArray:
    """What the model does not know of each component's logarithm, shape (n_components,).

    From draws of one run at the observed configurations, all made wider alike where left-out runs showed a GPU iteration to be less
    sure than its components say.
    """
    rng = np.random.default_rng(options.seed)
    drawn = draw_times(model, inputs, predicted, kind="run", n_draws=options.n_draws, rng=rng)
    spread = np.array([_log_std(getattr(drawn, f"{name}_s")) for name in COMPONENTS])
    shares = output_shares(prediction, "gpu_iteration_s")
    whole = output_std(prediction.prediction_interval["gpu_iteration_s"])
    parts = np.sqrt(np.square(shares) @ np.square(spread))
    return np.asarray(spread * max(1.0, float(np.median(whole / np.maximum(parts, LEAST_STD)))))


def _log_std(drawn_s: FloatArray) -> float:
    """Spread of the logarithm of draws, shape (n_draws, n_configs), in the middle configuration; 0 for a component that is not there."""
    drawn = np.atleast_2d(drawn_s)
    there = drawn.min(axis=0) > 0.0
    if not there.any() or len(drawn) < 2:
        return 0.0
    return max(LEAST_STD, float(np.median(np.log(drawn[:, there]).std(axis=0))))


def output_std(interval: Interval) -> FloatArray:
    """Standard deviation of an output's logarithm that makes an interval as wide as this one, shape (n_configs,)."""
    reach = 2.0 * float(ndtri(0.5 + interval.level / 2.0))
    return np.asarray(np.log(interval.upper / np.maximum(interval.lower, 1e-9 * interval.upper)) / reach)


def output_shares(prediction: Prediction, output: str) -> FloatArray:
    """First-order change of an output's logarithm with that of each component, shape (n_configs, n_components)."""
    gpu, update = (
        np.stack([_share(parts, name, len(prediction.cnn)) for name in COMPONENTS], axis=1)
        for parts in (prediction.gpu_breakdown_s, prediction.update_breakdown_s)
    )
    if output == "mean_minibatch_size":
        return np.asarray(update - gpu)
    return np.asarray(update if output == "update_iteration_s" else gpu)


def _share(parts: Mapping[str, FloatArray], name: str, n_configs: int) -> FloatArray:
    whole = np.sum(list(parts.values()), axis=0)
    return np.asarray(parts[name] / whole) if name in parts else np.zeros(n_configs)


def _narrowed(prediction: Prediction, intervals: Mapping[str, Interval], output: str, found: LogFactors, kind: str) -> Interval:
    """An interval that is as much narrower as the factors are known better; of a run it keeps the spread of one measurement."""
    interval, value = intervals[output], getattr(prediction, output)
    noise = float(np.median(found.noise_std)) if kind == "run" and len(found.noise_std) else 0.0
    width = found.relative_width(output_shares(prediction, output), output_std(interval), noise)
    if kind == "mean":
        width = np.minimum(width, 1.0)
    lower = value * np.power(np.maximum(interval.lower, 1e-9 * value) / value, width)
    return Interval(lower, value * np.power(interval.upper / value, width), interval.level)


def combined(asked: Mapping[str, float] | None, found: Mapping[str, float]) -> dict[str, float]:
    """Factors of a what-if times those of the measurements."""
    given = dict(asked or {})
    own = {name: factor * given.pop(name, 1.0) for name, factor in found.items() if factor != 1.0 or name in given}
    return {**own, **given}
