"""Runs that are left out and predicted through the whole chain: of networks nobody ran, of settings that were not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.progress import tracked
from mlperf.features.network.components import component_columns
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.outputs import OUTPUTS, mean_minibatch_size
from mlperf.training.components.run_fits import RunFits, fit_runs
from mlperf.training.components.run_settings import CONFIG, grid_of, spread_times
from mlperf.training.run_errors import no_errors, outside_by

STEP = ["cnn", "subbatch_size"]
LEAST_NETWORKS = 3
"""Networks from which the errors of left-out ones say what to expect of another."""

MOST_FOLDS = 10
"""Into which the settings of all networks are dealt, to be left out in turn."""

StepTimes = Callable[[pd.DataFrame, pd.DataFrame], FloatArray]
"""(training steps with ``time_s``, steps to predict) to seconds; steps have the columns `STEP`."""


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutRuns:
    """Runs predicted through the whole chain from settings that they are not among.

    Attributes
    ----------
    settings, runs : DataFrame
        One row a setting (see `mlperf.training.components.run_settings.run_settings`), and one a run.
    cnns : mapping of str to CnnSpec
    cache_bytes : mapping of str to int
        Caches of the host by level.
    predict : StepTimes
        Steps of networks that are left out.
    """

    settings: pd.DataFrame
    runs: pd.DataFrame
    cnns: Mapping[str, CnnSpec]
    cache_bytes: Mapping[str, int]
    predict: StepTimes

    def of_networks(self) -> pd.DataFrame:
        """Errors of each network's runs from the settings of the others (see `RunModel.residuals`)."""
        names = self.settings["cnn"].unique()
        if self.runs.empty or len(names) < LEAST_NETWORKS:
            return no_errors()
        return self._errors([(self.settings["cnn"] == name).to_numpy(bool) for name in names], self.predict, "networks")

    def of_settings(self) -> pd.DataFrame:
        """Errors of settings whose network and step are among the others; all networks leave the same ones out together."""
        if self.runs.empty:
            return no_errors()
        number = self.settings.groupby(CONFIG[1:], sort=True).ngroup().to_numpy(int)
        fold = number % MOST_FOLDS
        return self._errors([fold == each for each in np.unique(fold)], _as_measured, "settings")

    def _errors(self, left_out: Sequence[BoolArray], predict: StepTimes, what: str) -> pd.DataFrame:
        parts = []
        for out in tracked(left_out, f"{what} left out of the runs"):
            train, test = (self.settings[rows].reset_index(drop=True) for rows in (~out, out))
            if train.empty or (not (train["n_nodes"] > 1).any() and (test["n_nodes"] > 1).any()):
                continue
            step_s = predict(measured_steps(train), test)
            parts.append(self._of(train, test[np.isfinite(step_s)].reset_index(drop=True), step_s[np.isfinite(step_s)]))
        return pd.concat([part for part in parts if len(part)], ignore_index=True) if any(map(len, parts)) else no_errors()

    def _of(self, train: pd.DataFrame, test: pd.DataFrame, step_s: FloatArray) -> pd.DataFrame:
        if test.empty:
            return no_errors()
        found = predicted_outputs(fit_runs(train, self.cnns, self.cache_bytes), test, self.cnns, step_s)
        lengths, others = (np.array([self.cnns[name].n_params for name in part["cnn"]], float) for part in (test, train))
        outside = outside_by(lengths, others)
        each = self.runs.merge(test[CONFIG].assign(outside=outside).join(found), on=CONFIG, suffixes=("", "_predicted"))
        logs = {output: np.log(each[output] / each[f"{output}_predicted"]) for output in OUTPUTS}
        return each[["cnn", "n_nodes", "outside"]].assign(**logs)


def _as_measured(train: pd.DataFrame, test: pd.DataFrame) -> FloatArray:
    """The measured step of each tested setting, NaN where it was not."""
    return train.set_index(STEP)["time_s"].reindex(pd.MultiIndex.from_frame(test[STEP])).to_numpy(float)


def predicted_outputs(fits: RunFits, settings: pd.DataFrame, cnns: Mapping[str, CnnSpec], step_s: FloatArray) -> pd.DataFrame:
    """Outputs of settings whose gradient takes ``step_s``, shape (n_settings,); the epochs are as long as those measured."""
    seconds = fits.seconds(component_columns(settings, cnns), step_s)
    run = grid_of(settings)
    state = solve_iterations(spread_times(seconds, fits.variation), run, "phases")
    epochs = settings["epoch_s"].to_numpy(float) / settings["gpu_iteration_s"].to_numpy(float)
    return pd.DataFrame(
        {
            "gpu_iteration_s": state.gpu_iteration_s,
            "update_iteration_s": state.update_iteration_s,
            "epoch_s": epochs * state.gpu_iteration_s,
            "mean_minibatch_size": mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run),
        }
    )


def measured_steps(settings: pd.DataFrame) -> pd.DataFrame:
    """Mean gradient time of each (network, sub-batch) pair: `STEP` and ``time_s``."""
    return settings.groupby(STEP, sort=True)["compute_gradient_s"].mean().rename("time_s").reset_index()
