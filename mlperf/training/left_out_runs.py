"""Runs that are left out and predicted through the whole chain: of networks nobody ran, of settings that were not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.progress import tracked
from mlperf.features.network.components import component_columns
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.outputs import OUTPUTS, mean_minibatch_size
from mlperf.training.components.run_fits import RunFits, fit_each
from mlperf.training.components.run_settings import CONFIG, grid_of, spread_times
from mlperf.training.run_errors import COLUMNS, no_errors, outside_by

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
        folds = [
            fold for out in tracked(left_out, f"{what} left out of the runs") if (fold := self._fold(out, predict)) is not None
        ]
        if not folds:
            return no_errors()
        fits = fit_each([fold.train for fold in folds], self.cnns, self.cache_bytes)
        outputs = predicted_outputs(fits, folds, self.cnns)
        return pd.concat([self._of(*pair) for pair in zip(folds, outputs, strict=True)], ignore_index=True)

    def _fold(self, out: BoolArray, predict: StepTimes) -> _RunFold | None:
        """Settings that are left out and whose step can be told from the others; None where nothing is."""
        train, test = (self.settings[rows].reset_index(drop=True) for rows in (~out, out))
        if train.empty or (not (train["n_nodes"] > 1).any() and (test["n_nodes"] > 1).any()):
            return None
        step_s = predict(measured_steps(train), test)
        told = np.isfinite(step_s)
        return _RunFold(train, test[told].reset_index(drop=True), step_s[told]) if told.any() else None

    def _of(self, fold: _RunFold, outputs: pd.DataFrame) -> pd.DataFrame:
        lengths, others = (np.array([self.cnns[name].n_params for name in part["cnn"]], float) for part in (fold.test, fold.train))
        outside = outside_by(lengths, others)
        each = self.runs.merge(fold.test[CONFIG].assign(outside=outside).join(outputs), on=CONFIG, suffixes=("", "_predicted"))
        logs = {output: np.log(each[output] / each[f"{output}_predicted"]) for output in OUTPUTS}
        return each.assign(**logs)[COLUMNS]


@dataclass(frozen=True, slots=True, eq=False)
class _RunFold:
    """Settings to fit, settings to predict, and the seconds of a step of each of those, shape (n_test,)."""

    train: pd.DataFrame
    test: pd.DataFrame
    step_s: FloatArray


def _as_measured(train: pd.DataFrame, test: pd.DataFrame) -> FloatArray:
    """The measured step of each tested setting, NaN where it was not."""
    return train.set_index(STEP)["time_s"].reindex(pd.MultiIndex.from_frame(test[STEP])).to_numpy(float)


def predicted_outputs(fits: Sequence[RunFits], folds: Sequence[_RunFold], cnns: Mapping[str, CnnSpec]) -> list[pd.DataFrame]:
    """Outputs of the settings of each fold, all solved at once; the epochs are as long as those measured."""
    seconds = [fit.seconds(component_columns(fold.test, cnns), fold.step_s) for fit, fold in zip(fits, folds, strict=True)]
    counts = [len(fold.test) for fold in folds]
    settings = pd.concat([fold.test for fold in folds], ignore_index=True)
    variation = {name: np.repeat([fit.variation[name] for fit in fits], counts) for name in fits[0].variation}
    every = {name: np.concatenate([own[name] for own in seconds]) for name in seconds[0]}
    run = grid_of(settings)
    state = solve_iterations(spread_times(every, variation), run, "phases")
    epochs = settings["epoch_s"].to_numpy(float) / settings["gpu_iteration_s"].to_numpy(float)
    outputs = pd.DataFrame(
        {
            "gpu_iteration_s": state.gpu_iteration_s,
            "update_iteration_s": state.update_iteration_s,
            "epoch_s": epochs * state.gpu_iteration_s,
            "mean_minibatch_size": mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run),
        }
    )
    ends = np.cumsum([0, *counts])
    return [outputs.iloc[first:last].reset_index(drop=True) for first, last in pairwise(ends)]


def measured_steps(settings: pd.DataFrame) -> pd.DataFrame:
    """Mean gradient time of each (network, sub-batch) pair: `STEP` and ``time_s``."""
    return settings.groupby(STEP, sort=True)["compute_gradient_s"].mean().rename("time_s").reset_index()
