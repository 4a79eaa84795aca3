"""A few measured steps of the user's: one factor a component, and predictions that follow them with narrower intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.datasets.joining.join import Table
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.log_factors import LogFactors, update_log_factors
from mlperf.planning.calibration.narrowing import (
    NETWORK_STD,
    combined,
    log_std,
    narrowed,
    observed_notes,
    output_std,
    prior_spread,
    told_factors,
)
from mlperf.planning.calibration.observed_rows import SIZES, MeasuredRatios, ObservedRows, measured_ratios, read_observed
from mlperf.planning.calibration.sources import calibrated_reasons, calibrated_sources
from mlperf.planning.component_times import ASSUMED, PredictedTimes, draw_times, predict_times
from mlperf.planning.inputs import ConfigurationInputs, configuration_inputs, machine_of, networks, of_job
from mlperf.planning.means import mean_prediction, solve_predicted
from mlperf.planning.options import PredictionOptions
from mlperf.planning.predict import predict_configurations, predict_epoch
from mlperf.planning.run_prediction import Prediction
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.systems.base.times import ComponentTimes
from mlperf.systems.sprint.components import FITTED
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.training.elsewhere import model_on
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
PASSED = ("method", "level", "n_draws", "seed", "closed")
"""Options of the predictions that measurements are set beside: no what-if, which the measured machine has not seen."""
N_STEPS = 4
"""Gauss-Newton steps; sums of a few components need no more."""
WIDEST = "gpu_iteration_s"
"""The output whose left-out errors say how far components may be off."""


def predict_observed(
    model: Model, cnn: Any, machine: MachineSpec | Any, job: JobSpec, observed: Table, **options: Any
) -> Prediction:
    """Predict epochs as `mlperf.predict_epoch` does, after a few measurements on the machine asked about.

    Every component has one factor between 1 and what was measured, by how much the model knows of it and how much the measurements
    scatter. Times are predicted with the factors, those of a what-if on top of them; intervals are as much narrower as the factors
    are known better.

    Parameters
    ----------
    model, cnn, machine, job, **options
        As `mlperf.predict_epoch` takes them.
    observed : DataFrame, str or Path
        One row a measured configuration: ``cnn`` (may be left out where one is asked about), ``n_nodes``, ``n_gpus_per_node``,
        ``subbatch_size`` (left out: the one asked about, else the job's), and seconds: components (``compute_gradient_s``) or whole
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
    rows = read_observed(observed, asked, where, job, {**COLUMNS, **TIMES}, {name: options.get(name) for name in SIZES})
    rows.check_limits(where)
    plain: dict[str, Any] = {name: options[name] for name in PASSED if name in options}
    found = observed_factors(model, rows, where, PredictionOptions(**of_job(job, plain)))
    factors = combined(options.get("factors"), found.factors)
    prediction = predict_epoch(model, asked, where, job, **{**options, "factors": factors})
    wholes = [number for number, name in enumerate(rows.measured) if name not in COMPONENTS]
    intervals = {
        kind: {name: _narrowed(prediction, known[name], name, found, kind, wholes) for name in OUTPUTS}
        for kind, known in (("mean", prediction.confidence_interval), ("run", prediction.prediction_interval))
    }
    told = told_factors(found, prediction.prediction_interval[OUTPUTS[0]].level)
    source = calibrated_sources(prediction.source, told)
    return replace(
        prediction,
        source=source,
        outside=calibrated_reasons(prediction.outside, source),
        confidence_interval=intervals["mean"],
        prediction_interval=intervals["run"],
        observed=told,
        observed_notes=(*observed_notes(found, list(rows.measured)), *rows.notes),
    )


def observed_factors(model: Model, rows: ObservedRows, machine: MachineSpec, options: PredictionOptions) -> LogFactors:
    """Factors of the components after the measurements; sums are taken as linear in logarithms about the factors found so far.

    A what-if among ``options`` counts for nothing: what was measured is the machine as it is.
    """
    model = model_on(model, machine)
    inputs = configuration_inputs(model, rows.cnns, machine, rows.configs, options.optimizer)
    options = replace(options, distributions=False, factors={})
    prediction = predict_configurations(model, rows.cnns, machine, rows.configs, options)
    predicted = predict_times(model, inputs, options.method)
    known = prior_of(model, inputs, predicted, prediction, options)
    assumed = np.array([predicted.source.get(name) == ASSUMED for name in COMPONENTS])
    # One run of what nobody measured scatters as an iteration does, as far as is known.
    scatter = np.where(assumed, float(np.median(output_std(prediction.prediction_interval[WIDEST]))), known)
    found = update_log_factors(COMPONENTS, known, np.empty((0, len(COMPONENTS))), np.empty(0), np.empty(0, np.int64))
    for _ in range(N_STEPS):
        means = solve_predicted(predicted, inputs, replace(options, factors=combined(None, found.factors)))
        told = ratios_of(rows, mean_prediction(model, inputs, means), means.times)
        # No model knows what was assumed of the network; where nothing measured holds it, it stays as it was.
        prior = np.where(assumed & told.shares.any(axis=0), NETWORK_STD, known)
        ratio = told.log_ratio + found.log_shift(told.shares)
        found = update_log_factors(COMPONENTS, prior, told.shares, ratio, told.column, scatter)
    return found


def ratios_of(rows: ObservedRows, prediction: Prediction, times: ComponentTimes) -> MeasuredRatios:
    """Measurements beside the prediction of their configurations."""
    outputs = [name for name in rows.measured if name not in COMPONENTS]
    expected = {name: getattr(times, f"{name}_s") if name in COMPONENTS else getattr(prediction, name) for name in rows.measured}
    return measured_ratios(rows, COMPONENTS, expected, {name: output_shares(prediction, name) for name in outputs})


def prior_of(
    model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes, prediction: Prediction, options: PredictionOptions
) -> FloatArray:
    """What the model does not know of each component's logarithm, shape (n_components,).

    From draws of one run at the observed configurations, all made wider alike where left-out runs showed a GPU iteration to be less
    sure than its components say.
    """
    rng = np.random.default_rng(options.seed)
    drawn = draw_times(model, inputs, predicted, kind="run", n_draws=options.n_draws, rng=rng)
    spread = np.array([log_std(getattr(drawn, f"{name}_s")) for name in COMPONENTS])
    return prior_spread(spread, output_shares(prediction, WIDEST), prediction.prediction_interval[WIDEST])


def _narrowed(
    prediction: Prediction, interval: Interval, output: str, found: LogFactors, kind: str, wholes: Collection[int]
) -> Interval:
    return narrowed(interval, getattr(prediction, output), output_shares(prediction, output), found, kind, wholes)


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
