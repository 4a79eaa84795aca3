"""What asynchronous runs add to a model: costs in place, and how far networks that were left out went astray."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.progress import tracked
from mlperf.core.shown import Shown, plain
from mlperf.features.network.components import component_columns
from mlperf.features.network.steps import step_columns
from mlperf.models.storage.store import model_from_dict, model_to_dict
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.outputs import OUTPUTS, mean_minibatch_size
from mlperf.training.components.run_fits import RunFits, fit_runs
from mlperf.training.components.run_settings import CONFIG, grid_of, run_outputs, run_settings, spread_times
from mlperf.training.gradient.gradient import METHODS, PREDICTOR, GradientModel, step_times
from mlperf.training.gradient.score import GradientScore
from mlperf.training.gradient.work_model import WorkModel, fit_work

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

STEP = ["cnn", "subbatch_size"]
LEAST_NETWORKS = 3
"""Networks from which the errors of left-out ones say what to expect of another."""

StepTimes = Callable[[pd.DataFrame, pd.DataFrame], FloatArray]
"""(training steps with ``time_s``, steps to predict) to seconds; steps have the columns `STEP`."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownSteps:
    """Measured over predicted gradient time, and whether the very step was measured; shape (n_configs,), 1 and False by default."""

    ratio: FloatArray
    measured: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class RunModel(Shown):
    """Costs from asynchronous runs.

    Attributes
    ----------
    fits : RunFits
        Costs by component, and spreads.
    log_factor : mapping of str to float
        By method of kernel times: logarithm of the gradient's time in a run over that of its kernels measured alone.
    residuals : DataFrame
        Left-out networks, one row a run: ``cnn``, ``n_nodes`` and log(measured / predicted) of each output; empty with fewer
        than three networks.
    n_networks : int
        Networks of the runs.
    steps : DataFrame
        What is known of the networks themselves: ``cnn``, ``n_params``, ``subbatch_size`` and, by method, the logarithm of the
        measured gradient time over the predicted one.
    """

    fits: RunFits
    log_factor: Mapping[str, float]
    residuals: pd.DataFrame
    n_networks: int
    steps: pd.DataFrame

    def step_ratios(self, configs: pd.DataFrame, method: str) -> KnownSteps:
        """What to multiply predicted steps by: a network that was run keeps its ratio, between sub-batches by their logarithm.

        Parameters
        ----------
        configs : DataFrame
            ``cnn`` (name), ``n_params``, ``subbatch_size``: another network of the same name is not taken for the one that was run.
        method : str
            Of kernel times.
        """
        ratio, measured = np.ones(len(configs)), np.zeros(len(configs), bool)
        sizes = configs["subbatch_size"].to_numpy(float)
        for (cnn, n_params), known in self.steps.groupby(["cnn", "n_params"], sort=False):
            own = ((configs["cnn"] == cnn) & (configs["n_params"] == n_params)).to_numpy(bool)
            at = known["subbatch_size"].to_numpy(float)
            ratio[own] = np.exp(np.interp(np.log(sizes[own]), np.log(at), known[method].to_numpy(float)))
            measured[own] = np.isin(sizes[own], at)
        return KnownSteps(ratio, measured)

    def half_width(self, output: str, n_nodes: IntArray, level: float, steps: pd.DataFrame) -> FloatArray:
        """Half-width of the interval of an output's logarithm from networks left out, which weigh alike; shape (n_configs,).

        The wait for the slowest node grows with the nodes: errors of T_Update are those of runs on the nearest number of nodes.
        T_GPU is nearly all gradient: networks that were left out when kernels were fitted stand beside those of the runs. The
        mini-batch is in proportion to T_Update over T_GPU, whose errors have different causes: their squares add.

        Parameters
        ----------
        output : str
            One of `OUTPUTS`.
        n_nodes : array, shape (n_configs,)
        level : float
            Of the interval.
        steps : DataFrame
            Left-out steps of kernels, as `mlperf.training.gradient.score.GradientScore.step_residuals` gives them; may be empty.
        """
        if output == "mean_minibatch_size":
            return np.hypot(*(self.half_width(name, n_nodes, level, steps) for name in ("update_iteration_s", "gpu_iteration_s")))
        own = self.residuals[["cnn", "n_nodes"]].assign(distance=self.residuals[output].abs())
        if output != "update_iteration_s":
            others = steps[~steps["cnn"].isin(own["cnn"])]
            if len(others):
                own = pd.concat([own, others.assign(distance=others["log_residual"].abs())])
            return np.full(len(n_nodes), _quantile_of_networks(own, level))
        counts = np.unique(own["n_nodes"].to_numpy(float))
        each = np.array([_quantile_of_networks(own[own["n_nodes"] == count], level) for count in counts])
        nearest = np.abs(np.log(np.asarray(n_nodes, float)[:, None] / counts[None, :])).argmin(axis=1)
        return np.asarray(each[nearest])

    def to_dict(self) -> dict[str, Any]:
        """JSON types."""
        return {
            "costs": {name: [model_to_dict(part) for part in parts] for name, parts in self.fits.costs.items()},
            "variation": plain(dict(self.fits.variation)),
            "log_factor": plain(dict(self.log_factor)),
            "residuals": plain(self.residuals),
            "n_networks": self.n_networks,
            "steps": plain(self.steps),
        }

    @classmethod
    def from_dict(cls, value: Any, path: str) -> RunModel:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            stored = fields.raw("costs")
            costs = {
                name: tuple(
                    model_from_dict(part, f"{path}.costs.{name}[{place}]")
                    for place, part in enumerate(Fields(stored, f"{path}.costs").items(name))
                )
                for name in Fields(stored, f"{path}.costs").names
            }
            variation = _numbers(fields.raw("variation"), f"{path}.variation")
            return cls(
                RunFits(costs, variation),
                _numbers(fields.raw("log_factor"), f"{path}.log_factor"),
                frame_from_dict(fields.raw("residuals"), f"{path}.residuals"),
                fields.integer("n_networks", lower=1),
                frame_from_dict(fields.raw("steps"), f"{path}.steps"),
            )


def _numbers(value: Any, path: str) -> dict[str, float]:
    fields = Fields(value, path)
    return {name: fields.number(name) for name in fields.names}


def _quantile_of_networks(table: pd.DataFrame, level: float) -> float:
    weight = 1.0 / table.groupby("cnn")["cnn"].transform("size")
    return weighted_quantile(table["distance"].to_numpy(float), weight.to_numpy(float), level)


def weighted_quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    """The smallest value at which the weights of those up to it reach ``level`` of their sum."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(reached, level - 1e-12)), len(values) - 1)])


def fit_run_model(
    campaigns: Sequence[Campaign],
    gradient: GradientModel | WorkModel,
    score: GradientScore,
    cache_bytes: Mapping[str, int],
    leave_out: Sequence[str] = (),
) -> RunModel:
    """Fit asynchronous runs.

    Parameters
    ----------
    campaigns : sequence of Campaign
        With ``components.csv`` and ``runs.csv``.
    gradient : GradientModel or WorkModel
        What a step takes by itself; kernels measured alone get the factor that they take in a run.
    score : GradientScore
        Its left-out steps stand for those of networks that both were trained on and are run.
    cache_bytes : mapping of str to int
        Caches of the host by level.
    leave_out : sequence of str
        Networks whose runs are not looked at.
    """
    settings, cnns = _settings(campaigns, leave_out)
    steps = measured_steps(settings)
    fits = fit_runs(settings, cnns, cache_bytes)
    factors: dict[str, float] = {}
    if isinstance(gradient, WorkModel):
        predict = _by_work(cnns)
    else:
        tables = {method: _kernel_steps(gradient, score.predictions, steps, cnns, method) for method in METHODS}
        factors = {method: _log_factor(steps, table) for method, table in tables.items()}
        predict = _in_place(tables[PREDICTOR])
    runs = _kept(run_outputs(campaigns), leave_out)
    residuals = _left_out_residuals(settings, runs, cnns, cache_bytes, predict)
    known = _known_steps(gradient, steps, cnns, factors)
    return RunModel(fits, factors, residuals, int(settings["cnn"].nunique()), known)


def _known_steps(
    gradient: GradientModel | WorkModel, steps: pd.DataFrame, cnns: Mapping[str, CnnSpec], factors: Mapping[str, float]
) -> pd.DataFrame:
    """Logarithms of measured over predicted steps by method (see `RunModel.steps`)."""
    calls = gradient.calls((cnns[name], int(size)) for name, size in steps[STEP].itertuples(index=False))
    logs = {
        method: np.log(steps["time_s"].to_numpy(float) / step_times(calls, gradient.call_times(calls, method)))
        - factors.get(method, 0.0)
        for method in METHODS
    }
    return steps[STEP].assign(n_params=[cnns[name].n_params for name in steps["cnn"]], **logs)


def fit_steps(campaigns: Sequence[Campaign], leave_out: Sequence[str] = ()) -> WorkModel:
    """Fit the gradient's time by what the steps of asynchronous runs compute and move."""
    settings, cnns = _settings(campaigns, leave_out)
    return fit_work(step_columns(measured_steps(settings), cnns))


def _settings(campaigns: Sequence[Campaign], leave_out: Sequence[str]) -> tuple[pd.DataFrame, dict[str, CnnSpec]]:
    settings, cnns = run_settings(campaigns)
    return _kept(settings, leave_out), cnns


def _kept(rows: pd.DataFrame, leave_out: Sequence[str]) -> pd.DataFrame:
    return rows[~rows["cnn"].isin(list(leave_out))].reset_index(drop=True)


def measured_steps(settings: pd.DataFrame) -> pd.DataFrame:
    """Mean gradient time of each (network, sub-batch) pair: `STEP` and ``time_s``."""
    return settings.groupby(STEP, sort=True)["compute_gradient_s"].mean().rename("time_s").reset_index()


def _by_work(cnns: Mapping[str, CnnSpec]) -> StepTimes:
    def predict(train: pd.DataFrame, test: pd.DataFrame) -> FloatArray:
        return fit_work(step_columns(train, cnns)).fitted.predict(step_columns(test[STEP], cnns))

    return predict


def _kernel_steps(
    gradient: GradientModel, left_out: pd.DataFrame, steps: pd.DataFrame, cnns: Mapping[str, CnnSpec], method: str
) -> pd.DataFrame:
    """Sum of the kernels of each step, ``kernels_s``; where the folds left the network out, as they predicted it."""
    calls = gradient.calls((cnns[name], int(size)) for name, size in steps[STEP].itertuples(index=False))
    seconds = step_times(calls, gradient.call_times(calls, method))
    known = left_out.set_index(STEP)[f"{method}_s"].reindex(pd.MultiIndex.from_frame(steps[STEP])).to_numpy(float)
    return steps[STEP].assign(kernels_s=np.where(np.isnan(known), seconds, known))


def _log_factor(steps: pd.DataFrame, table: pd.DataFrame) -> float:
    """Mean logarithm of measured over predicted steps, networks weighing alike."""
    logs = np.log(steps["time_s"].to_numpy(float) / table["kernels_s"].to_numpy(float))
    return float(pd.Series(logs).groupby(steps["cnn"].to_numpy()).mean().mean())


def _in_place(table: pd.DataFrame) -> StepTimes:
    kernels = table.set_index(STEP)["kernels_s"]

    def predict(train: pd.DataFrame, test: pd.DataFrame) -> FloatArray:
        own, asked = (kernels.loc[pd.MultiIndex.from_frame(part[STEP])].to_numpy(float) for part in (train, test))
        return np.asarray(asked * np.exp(_log_factor(train, train.assign(kernels_s=own))))

    return predict


def _left_out_residuals(
    settings: pd.DataFrame,
    runs: pd.DataFrame,
    cnns: Mapping[str, CnnSpec],
    cache_bytes: Mapping[str, int],
    predict: StepTimes,
) -> pd.DataFrame:
    """Each network's runs, predicted through the whole chain from the settings of the others."""
    networks = settings["cnn"].unique()
    if runs.empty or len(networks) < LEAST_NETWORKS:
        return pd.DataFrame(columns=["cnn", "n_nodes", *OUTPUTS])
    parts = []
    for name in tracked(networks, "networks left out of the runs"):
        train = settings[settings["cnn"] != name].reset_index(drop=True)
        test = settings[settings["cnn"] == name].reset_index(drop=True)
        step_s = predict(measured_steps(train), test)
        found = predicted_outputs(fit_runs(train, cnns, cache_bytes), test, cnns, step_s)
        each = runs.merge(test[CONFIG].join(found), on=CONFIG, suffixes=("", "_predicted"))
        logs = {output: np.log(each[output] / each[f"{output}_predicted"]) for output in OUTPUTS}
        parts.append(each[["cnn", "n_nodes"]].assign(**logs))
    residuals: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return residuals


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
