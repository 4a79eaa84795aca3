"""Component times that a run itself measured, put into the equations: what is left is the equations' own error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.systems.base.times import SPREADS, ComponentTimes, RunGrid
from mlperf.systems.sprint.components import FITTED

WORK = ("load_image_s", "deform_image_s", "compute_gradient_s", "compute_update_value_s")
OWN_UPDATE_WORK = ("update_old_weights_s", "add_momentum_s", "update_momentum_s")
STD = "gpu_work_std_s"


def known_times(settings: pd.DataFrame) -> ComponentTimes:
    """Measured times of each setting, payload and barrier apart, with the measured spreads; arrays of shape (n_settings,)."""
    seconds = {component.column: settings[component.column].to_numpy(float) for component in FITTED}
    seconds["allreduce_s"] = settings["allreduce_payload_s"].to_numpy(float)
    spreads = {f"{name}_std_s": settings[f"{name}_std_s"].to_numpy(float) for name in SPREADS if f"{name}_std_s" in settings}
    return ComponentTimes(**seconds, gpu_work_std_s=settings[STD].to_numpy(float), **spreads)


def run_grid(settings: pd.DataFrame) -> RunGrid:
    """The configurations of a table of settings; the data set's size is the samples of an update over its share of the epoch."""
    dataset_size = settings["epoch_s"] * settings["mean_minibatch_size"] / settings["update_iteration_s"]
    counts = (settings["n_nodes"], settings["n_gpus_per_node"], settings["subbatch_size"], np.rint(dataset_size))
    return RunGrid(*(np.asarray(column, dtype=int) for column in counts))


def mean_of(settings: pd.DataFrame, columns: Sequence[str]) -> FloatArray:
    """Sum of columns of each setting, shape (n_settings,)."""
    return np.asarray(settings[list(columns)].to_numpy(float).sum(axis=1))


def variations(settings: pd.DataFrame) -> dict[str, float]:
    """Coefficient of variation of each spread that was measured: standard deviation over mean, the mean over settings."""
    means = {
        "gpu_work": mean_of(settings, WORK),
        "update_work": mean_of(settings, OWN_UPDATE_WORK),
        **{name: settings[f"{name}_s"].to_numpy(float) for name in SPREADS if name != "update_work"},
    }
    found = {name: f"{name}_std_s" for name in means if f"{name}_std_s" in settings}
    return {name: float(np.mean(settings[column].to_numpy(float) / means[name])) for name, column in found.items()}
