"""`mlperf.predict_epoch`: epoch time and mean mini-batch size of a CNN that was never run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.threads import one_thread
from mlperf.planning.additions import with_elasticities, with_forms, with_intervals, with_simulation
from mlperf.planning.component_times import PredictedTimes
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
from mlperf.planning.means import mean_prediction, solve_means
from mlperf.planning.options import MOST_DETAILED, PredictionOptions
from mlperf.planning.outside import outside_table
from mlperf.planning.run_prediction import Prediction
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.elsewhere import model_on
from mlperf.training.model import Model


def predict_epoch(
    model: Model,
    cnn: CnnSpec | str | Path | Iterable[CnnSpec | str | Path],
    machine: MachineSpec | str | Path,
    job: JobSpec,
    *,
    n_nodes: Counts | None = None,
    n_gpus_per_node: Counts | None = None,
    subbatch_size: Counts | None = None,
    **options: Any,
) -> Prediction:
    """Predict epoch time, mean mini-batch size and their parts.

    Parameters
    ----------
    model : Model
        From `mlperf.train` or `mlperf.load_model`.
    cnn : CnnSpec, str, Path or several
        Networks to predict: specifications, or what `mlperf.specs.find_cnn` finds (``"resnet50"``, ``"net.onnx"``).
    machine : MachineSpec, str or Path
        Gives GPUs per node, the network of a component that was not measured, and the limits; or its name or file.
    job : JobSpec
        Gives data set size, nodes, sub-batch and optimizer.
    n_nodes, n_gpus_per_node, subbatch_size : int or sequence of int, optional
        In place of the machine's and the job's; every combination is predicted.
    **options
        Of `mlperf.planning.options.PredictionOptions`: ``closed, refine, method, factors, level, n_draws, seed, strict``, and
        what to add: ``distributions, elasticities, compare_forms, simulate``.

    Returns
    -------
    Prediction
        Arrays over CNN x nodes x GPUs x sub-batch, the last fastest.

    Raises
    ------
    DataError
        A component or kernel has no model, the job's data type was not measured, or the machine has not so many nodes, devices
        or so much memory.
    UsageError
        No CNN, an unknown form, or a factor that the recursion or the simulation cannot obey.
    DomainError
        With ``strict=True``, outside the measured domain.

    References
    ----------
    Oyama et al. (SPRINT), eqs. 4 to 10.
    """
    cnns, machine = networks(cnn), machine_of(machine)
    configs = asked_configurations(cnns, machine, job, (n_nodes, n_gpus_per_node, subbatch_size))
    check_limits(machine, cnns, configs)
    return predict_configurations(model, cnns, machine, configs, PredictionOptions(**of_job(job, options)))


@one_thread()
def predict_configurations(
    model: Model, cnns: Sequence[CnnSpec], machine: MachineSpec, configs: pd.DataFrame, options: PredictionOptions
) -> Prediction:
    """Solve the SPRINT equations for each row of ``configs`` (see `mlperf.planning.inputs.ConfigurationInputs`)."""
    return predict_inputs(model, configuration_inputs(model, cnns, machine, configs, options.optimizer), options)


def outside_means(model: Model, inputs: ConfigurationInputs, options: PredictionOptions) -> pd.DataFrame:
    """`outside_table` of configurations of which nothing is solved yet."""
    means = solve_means(model, inputs, options)
    return outside_prediction(model, inputs, means.predicted, mean_prediction(model, inputs, means))


def outside_prediction(
    model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes, prediction: Prediction
) -> pd.DataFrame:
    """`outside_table` with the shares of a prediction."""
    return outside_table(model, inputs, predicted, {**prediction.gpu_breakdown_s, **prediction.update_breakdown_s})


def predict_inputs(model: Model, inputs: ConfigurationInputs, options: PredictionOptions) -> Prediction:
    """The same of configurations whose inputs are made already."""
    model = model_on(model, inputs.machine)
    means = solve_means(model, inputs, options)
    prediction = with_intervals(mean_prediction(model, inputs, means), model, inputs, means)
    if len(inputs.configs) <= MOST_DETAILED:
        prediction = replace(prediction, outside=outside_prediction(model, inputs, means.predicted, prediction))
    if options.elasticities:
        prediction = with_elasticities(prediction, means)
    if options.compare_forms:
        prediction = with_forms(prediction, means)
    if options.simulate is not None:
        prediction = with_simulation(prediction, means, options.simulate)
    return prediction
