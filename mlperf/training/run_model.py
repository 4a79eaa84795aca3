"""What asynchronous runs add to a model: costs in place, and how far networks that were left out went astray."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.shown import Shown, plain
from mlperf.features.network.steps import step_columns
from mlperf.models.storage.store import model_from_dict, model_to_dict
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.components.run_fits import RunFits, fit_runs
from mlperf.training.components.run_settings import run_outputs, run_settings
from mlperf.training.gradient.gradient import METHODS, PREDICTOR, GradientModel
from mlperf.training.gradient.score import GradientScore
from mlperf.training.gradient.work_model import WorkModel, fit_work
from mlperf.training.left_out_runs import STEP, LeftOutRuns, StepTimes, measured_steps
from mlperf.training.run_errors import AskedRuns, half_widths, no_errors, outside_by

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

WITHOUT_WORK = (
    "activation",
    "flatten",
    "dropout",
    "softmax",
    "tokens",
    "unflatten",
    "select_token",
    "concat",
    "part",
    "shuffle",
    "add",
)
"""Kinds of layers that hardly take time beside the others."""


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
        Left-out networks, one row a run: ``cnn``, ``n_nodes``, ``subbatch_size`` (files of earlier releases lack it), ``outside``
        (see `mlperf.training.run_errors.outside_by`) and log(measured / predicted) of each output; empty with fewer than three
        networks.
    n_networks : int
        Networks of the runs.
    steps : DataFrame
        What is known of the networks themselves: ``cnn``, ``n_params``, ``subbatch_size`` and, by method, the logarithm of the
        measured gradient time over the predicted one.
    setting_residuals : DataFrame
        The same as ``residuals`` of settings that were left out while their network and its step stayed.
    layers : tuple of str
        Kinds of layers of the networks (see `layer_kinds`); empty in files of earlier releases, which do not say.
    """

    fits: RunFits
    log_factor: Mapping[str, float]
    residuals: pd.DataFrame
    n_networks: int
    steps: pd.DataFrame
    setting_residuals: pd.DataFrame = field(default_factory=no_errors)
    layers: tuple[str, ...] = ()

    def unseen_layers(self, cnn: CnnSpec) -> tuple[str, ...]:
        """Kinds of layers of a network that none of the runs had; none where they are not known."""
        return tuple(kind for kind in layer_kinds([cnn]) if kind not in self.layers) if self.layers else ()

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

    def beyond_nodes(self, n_nodes: IntArray) -> BoolArray:
        """Whether each number of nodes, shape (n_configs,), is above those of all runs that were left out; no where none was."""
        tables = [table["n_nodes"].max() for table in (self.residuals, self.setting_residuals) if len(table)]
        return np.asarray(n_nodes > max(tables, default=np.inf))

    def half_width(self, output: str, configs: pd.DataFrame, level: float, steps: pd.DataFrame, method: str) -> FloatArray:
        """Half-width of the interval of an output's logarithm, from runs that were left out.

        Parameters
        ----------
        output : str
            One of `OUTPUTS`.
        configs : DataFrame
            ``cnn`` (name), ``n_params``, ``subbatch_size``, ``n_nodes``.
        level : float
            Of the interval.
        steps : DataFrame
            Left-out steps of kernels, as `mlperf.training.gradient.score.GradientScore.step_residuals` gives them; may be empty.
        method : str
            Of kernel times.

        Returns
        -------
        array, shape (n_configs,)
            By settings left out where the very step was run, else by networks left out; NaN where neither was.
        """
        asked = AskedRuns(
            configs["n_nodes"].to_numpy(int),
            outside_by(configs["n_params"].to_numpy(float), self.steps["n_params"].to_numpy(float)),
        )
        known = self.step_ratios(configs, method).measured & bool(len(self.setting_residuals))
        found = np.full(len(configs), np.nan)
        for mine, errors, others in ((known, self.setting_residuals, steps.iloc[:0]), (~known, self.residuals, steps)):
            if mine.any() and len(errors):
                found[mine] = half_widths(errors, output, asked.take(np.flatnonzero(mine)), level, others)
        return found

    def to_dict(self) -> dict[str, Any]:
        """JSON types."""
        return {
            "costs": {name: [model_to_dict(part) for part in parts] for name, parts in self.fits.costs.items()},
            "variation": plain(dict(self.fits.variation)),
            "log_factor": plain(dict(self.log_factor)),
            "residuals": plain(self.residuals),
            "n_networks": self.n_networks,
            "steps": plain(self.steps),
            # Files of earlier releases say nothing of it, and are written again as they were.
            **({"setting_residuals": plain(self.setting_residuals)} if len(self.setting_residuals) else {}),
            **({"layers": list(self.layers)} if self.layers else {}),
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
                no_errors()
                if fields.missing("setting_residuals")
                else frame_from_dict(fields.raw("setting_residuals"), f"{path}.setting_residuals"),
                () if fields.missing("layers") else fields.texts("layers"),
            )


def layer_kinds(cnns: Iterable[CnnSpec]) -> tuple[str, ...]:
    """Kinds of layers with work of their own, sorted; a convolution in groups is another kind."""
    layers = [layer for cnn in cnns for layer in cnn.layers if layer.kind not in WITHOUT_WORK]
    return tuple(sorted({f"{each.kind} in groups" if each.kind == "conv" and each.groups > 1 else each.kind for each in layers}))


def _numbers(value: Any, path: str) -> dict[str, float]:
    fields = Fields(value, path)
    return {name: fields.number(name) for name in fields.names}


def fit_run_model(
    campaigns: Sequence[Campaign],
    gradient: GradientModel | WorkModel,
    score: GradientScore,
    cache_bytes: Mapping[str, int],
    leave_out: Sequence[str] = (),
    *,
    left_out: bool = True,
    known: RunModel | None = None,
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
    left_out : bool
        Whether runs are left out in turn and predicted; without, the model has no residuals.
    known : RunModel, optional
        Of the same runs with other steps: the costs, and the errors of settings whose step was measured, are the same.
    """
    runs = _kept(run_outputs(campaigns), leave_out)
    settings, cnns = _settings(campaigns, leave_out)
    steps = measured_steps(settings)
    fits = fit_runs(settings, cnns, cache_bytes) if known is None else known.fits
    calls = gradient.calls((cnns[name], int(size)) for name, size in steps[STEP].itertuples(index=False))
    seconds = {method: gradient.step_times(calls, gradient.call_times(calls, method)) for method in METHODS}
    factors: dict[str, float] = {}
    if isinstance(gradient, WorkModel):
        predict = _by_work(cnns)
    else:
        tables = {method: _kernel_steps(seconds[method], score.predictions, steps, method) for method in METHODS}
        factors = {method: _log_factor(steps, table) for method, table in tables.items()}
        predict = _in_place(tables[PREDICTOR])
    chain = LeftOutRuns(settings, runs if left_out else runs.iloc[:0], cnns, cache_bytes, predict)
    of_settings = chain.of_settings() if known is None else known.setting_residuals
    ratios = _known_steps(seconds, steps, cnns, factors)
    n_networks = int(settings["cnn"].nunique())
    kinds = layer_kinds(cnns[name] for name in settings["cnn"].unique())
    return RunModel(fits, factors, chain.of_networks(), n_networks, ratios, of_settings, kinds)


def _known_steps(
    seconds: Mapping[str, FloatArray], steps: pd.DataFrame, cnns: Mapping[str, CnnSpec], factors: Mapping[str, float]
) -> pd.DataFrame:
    """Logarithms of measured over predicted steps by method (see `RunModel.steps`)."""
    measured = steps["time_s"].to_numpy(float)
    logs = {method: np.log(measured / own) - factors.get(method, 0.0) for method, own in seconds.items()}
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


def _by_work(cnns: Mapping[str, CnnSpec]) -> StepTimes:
    def predict(train: pd.DataFrame, test: pd.DataFrame) -> FloatArray:
        return fit_work(step_columns(train, cnns)).fitted.predict(step_columns(test[STEP], cnns))

    return predict


def _kernel_steps(seconds: FloatArray, left_out: pd.DataFrame, steps: pd.DataFrame, method: str) -> pd.DataFrame:
    """Sum of the kernels of each step, ``kernels_s``; where the folds left the network out, as they predicted it."""
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
