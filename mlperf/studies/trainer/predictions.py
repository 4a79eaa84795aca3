"""What `mlperf train` and `mlperf predict` say of runs that were not trained on, and trivial answers beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets.campaigns.trainer_runs import CONFIG, TrainerRuns, settings_table
from mlperf.features.network.steps import step_columns
from mlperf.planning.options import PredictionOptions
from mlperf.planning.predict import predict_configurations
from mlperf.planning.run_prediction import Prediction
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.studies.trainer.protocols import Split
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.training.components.run_fits import RunFits
from mlperf.training.model import Model
from mlperf.training.training import train_campaign, with_runs

MODEL, PAPER, STEP_ALONE, NEAREST = "mlperf", "paper's terms and form", "gradient / (M n b)", "nearest setting"
EPOCH = "epoch_s"
RUNS = MachineSpec("runs", max_nodes=1, n_gpus_per_node=1)
"""Stands for the machine of the runs: its network is measured, and what fits on it is not asked."""


def train_split(
    split: Split, runs: TrainerRuns, kernels: Model | None, *, left_out_runs: bool = True, like: Model | None = None
) -> Model:
    """Train as `mlperf train` does: on runs alone, or on top of a model of kernels that were measured alone.

    Parameters
    ----------
    split : Split
        Its ``train`` says which runs.
    runs : TrainerRuns
        Where they come from.
    kernels : Model or None
        Stays as it is; the runs are fitted onto it.
    left_out_runs : bool
        As of `mlperf.training.training.train_campaign`: for those who ask for intervals.
    like : Model, optional
        Of the same runs alone: what it knows beside the steps stays, where they follow from kernels (see `with_runs`).
    """
    campaigns = runs.campaigns_of(split.train)
    if kernels is not None:
        return with_runs(kernels, campaigns, scored=False, left_out_runs=left_out_runs, like=like)
    return train_campaign(campaigns[0], runs=campaigns[1:], scored=False, left_out_runs=left_out_runs)


def predict_settings(
    model: Model, settings: pd.DataFrame, cnns: Mapping[str, CnnSpec], machine: MachineSpec = RUNS, **options: Any
) -> Prediction:
    """Predict as `mlperf predict` does.

    Parameters
    ----------
    model : Model
        Of kernels, of runs or of both.
    settings : DataFrame, shape (n_settings, ...)
        The columns of `CONFIG`, and an epoch's ``dataset_size`` (samples) or the outputs from which it follows.
    cnns : mapping of str to CnnSpec
        Every network of the settings.
    machine : MachineSpec
        Gives the network where the model knows no exchange.
    **options
        Of `mlperf.planning.options.PredictionOptions`; distributions only where asked for.

    Returns
    -------
    Prediction
        One configuration a setting, in their order.
    """
    names = sorted(settings["cnn"].unique())
    sizes = settings["dataset_size"] if "dataset_size" in settings else np.rint(dataset_sizes(settings))
    configs = settings[CONFIG[1:]].assign(
        cnn=settings["cnn"].map({name: number for number, name in enumerate(names)}),
        dataset_size=np.maximum(sizes, 1).astype(int),
    )
    chosen = PredictionOptions(**{"distributions": False, **options})
    return predict_configurations(model, [cnns[name] for name in names], machine, configs, chosen)


def dataset_sizes(settings: pd.DataFrame) -> FloatArray:
    """Samples of the measured epochs (SPRINT eq. 10 backwards), shape (n_settings,)."""
    iterations = settings[EPOCH] / settings["gpu_iteration_s"]
    return np.asarray(iterations * settings[CONFIG[1:]].prod(axis=1), float)


def with_paper_terms(model: Model) -> Model:
    """The model with the regressors that the paper chose by hand: no costs in place, no spreads; the step stays."""
    components = {name: replace(each, selected=each.paper) for name, each in model.components.items()}
    return replace(model, components=components, runs=None if model.runs is None else replace(model.runs, fits=RunFits({}, {})))


def split_rows(split: Split, model: Model, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """Predictions beside measurements.

    Returns
    -------
    DataFrame
        One row a (method, setting, quantity): the split's key, `CONFIG`, ``method`` (`MODEL`, or one of the trivial answers),
        ``quantity``, ``measured`` (mean of the repeats), ``predicted``, ``relative_error`` and, of `MODEL`, ``lower``, ``upper``
        (95 % interval of a run), ``inside`` (share of the repeats inside it) and ``in_domain``.
    """
    settings = settings_table(split.test)
    found = predict_settings(model, settings, cnns)
    parts = model_rows(settings, found, split.test)
    paper = predict_settings(with_paper_terms(model), settings, cnns, closed="paper", n_draws=2)
    near = nearest(settings_table(split.train), settings, cnns)
    parts += [beside(settings, name, PAPER, getattr(paper, name)) for name in OUTPUTS]
    parts += [beside(settings, name, NEAREST, near[name].to_numpy(float)) for name in OUTPUTS]
    step_s = found.gpu_breakdown_s["compute_gradient"]
    parts.append(beside(settings, EPOCH, STEP_ALONE, dataset_sizes(settings) * step_s / settings[CONFIG[1:]].prod(axis=1)))
    return pd.concat(parts, ignore_index=True).assign(**split.key)


def model_rows(settings: pd.DataFrame, found: Prediction, runs: pd.DataFrame) -> list[pd.DataFrame]:
    """What the model says of settings beside their runs, with its intervals.

    Parameters
    ----------
    settings : DataFrame, shape (n_settings, ...)
        What was asked, and the means that were measured.
    found : Prediction
        Of these settings.
    runs : DataFrame
        Every run of them.

    Returns
    -------
    list of DataFrame
        Rows of `split_rows`, a table for each output.
    """
    parts = []
    for name in OUTPUTS:
        interval = found.prediction_interval[name]
        part = beside(settings, name, MODEL, getattr(found, name)).assign(
            lower=interval.lower, upper=interval.upper, in_domain=found.in_domain[name]
        )
        parts.append(part.assign(inside=_share_inside(part, runs)))
    return parts


def beside(settings: pd.DataFrame, quantity: str, method: str, predicted: FloatArray) -> pd.DataFrame:
    """One answer about one quantity beside what was measured.

    Parameters
    ----------
    settings : DataFrame, shape (n_settings, ...)
        The columns of `CONFIG` and ``quantity``.
    quantity, method : str
        What was asked, and who answers.
    predicted : array, shape (n_settings,)
        In the unit of the quantity.

    Returns
    -------
    DataFrame, shape (n_settings, ...)
        The first columns of `split_rows`.
    """
    measured = settings[quantity].to_numpy(float)
    return settings[CONFIG].assign(
        method=method,
        quantity=quantity,
        measured=measured,
        predicted=predicted,
        relative_error=np.asarray(predicted, float) / measured - 1.0,
    )


def _share_inside(rows: pd.DataFrame, runs: pd.DataFrame) -> FloatArray:
    quantity = rows["quantity"].iloc[0]
    each = rows[[*CONFIG, "lower", "upper"]].merge(runs[[*CONFIG, quantity]], on=CONFIG)
    inside = each.assign(inside=each[quantity].between(each["lower"], each["upper"])).groupby(CONFIG)["inside"].mean()
    return inside.loc[pd.MultiIndex.from_frame(rows[CONFIG])].to_numpy(float)


def nearest(known: pd.DataFrame, asked: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """For each asked setting the measured one nearest in nodes, GPUs, sub-batch and operations of a step, by their logarithms."""
    places = [np.log(step_columns(part, cnns)[[*CONFIG[1:], "step_flops"]].to_numpy(float)) for part in (known, asked)]
    distance = np.abs(places[1][:, None, :] - places[0][None, :, :]).sum(axis=2)
    closest: pd.DataFrame = known.iloc[distance.argmin(axis=1)].reset_index(drop=True)
    return closest
