"""Epochs until a run of the asynchronous trainer first reached an accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.campaigns.trainer_runs import CONFIG, trainer_table

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

TRAINING = ["learning_rate", "momentum"]
"""What a campaign must hold fixed: the number of epochs depends on it as much as on the mini-batch."""


def epochs_to_target(epoch: FloatArray, accuracy: FloatArray, target: float) -> float:
    """Epochs at which the accuracy first reaches the target, by linear interpolation between the ends of epochs.

    Parameters
    ----------
    epoch : array, shape (n_epochs,)
        Epochs finished, increasing.
    accuracy : array, shape (n_epochs,)
        Share of test samples classified rightly; before the first epoch it counts as 0.
    target : float
        A fraction.

    Returns
    -------
    float
        NaN where the run ended before (a censored run).
    """
    reached = np.flatnonzero(accuracy >= target)
    if not reached.size:
        return float("nan")
    first = int(reached[0])
    before, base = (0.0, 0.0) if first == 0 else (float(epoch[first - 1]), float(accuracy[first - 1]))
    share = (target - base) / (float(accuracy[first]) - base)
    return before + share * (float(epoch[first]) - before)


def quality_rows(campaigns: Sequence[Campaign], target: float, data: str | None = None) -> pd.DataFrame:
    """One row a run with real gradients on one data set.

    Parameters
    ----------
    campaigns : sequence of Campaign
        Folders that ``mlperf collect asgd`` wrote, or `mlperf.collect.trainer.learning.learn.learn_without_clock`.
    target : float
        Accuracy, a fraction.
    data : str, optional
        The data set; default the only one.

    Returns
    -------
    DataFrame
        ``campaign, run, mode, data``, the setting, ``mean_minibatch_size`` (samples), ``staleness`` (updates), ``best_accuracy``,
        ``n_epochs`` (of the run) and ``epochs_to_target`` (NaN: not reached).

    Raises
    ------
    DataError
        No run with real gradients, learning rate or momentum differ between runs, or none or several data sets are meant.
    """
    parts = [_campaign_rows(campaign, target) for campaign in campaigns]
    rows = _of_data(pd.concat(parts, ignore_index=True), data)
    for name in TRAINING:
        values = sorted(rows[name].unique())
        if len(values) > 1:
            place = ", ".join(str(campaign.path) for campaign in campaigns)
            raise DataError(
                f"got {name} {', '.join(map(str, values))}, expected one value in all runs",
                place=place,
                hint="Epochs to a target depend on it: fit one model for each.",
            )
    kept: pd.DataFrame = rows.drop(columns=TRAINING)
    return kept


def _of_data(rows: pd.DataFrame, data: str | None) -> pd.DataFrame:
    """The runs on one data set."""
    found = sorted(rows["data"].unique())
    if data is None and len(found) > 1:
        raise DataError(
            f"got runs on {', '.join(found)}, expected one data set",
            place=", ".join(rows["campaign"].unique()),
            hint="A target means something on one data set only: name it with --data-set.",
        )
    if data is not None and data not in found:
        raise DataError(f"got data set {data!r}, expected one of {', '.join(found)}", hint=nearest_hint(data, found))
    chosen: pd.DataFrame = rows if data is None else rows[rows["data"] == data].reset_index(drop=True)
    return chosen


def _campaign_rows(campaign: Campaign, target: float) -> pd.DataFrame:
    runs, epochs = _runs_of(campaign), trainer_table(campaign, "epochs")
    by_run = [{"run": run, **_of_run(rows, target)} for run, rows in epochs.groupby("run", sort=True)]
    found: pd.DataFrame = runs.merge(pd.DataFrame(by_run), on="run")
    found.insert(0, "campaign", campaign.name)
    return found


def _runs_of(campaign: Campaign) -> pd.DataFrame:
    """Setting, mini-batch, staleness and way of training of each run."""
    columns = ["run", "mode", "data", *CONFIG, "mean_minibatch_size", "staleness", *TRAINING]
    if campaign.learning is not None:
        learnt: pd.DataFrame = campaign.learning[columns]
        return learnt
    data = campaign.told("protocol", "asgd").get("data") or "unknown"
    details = campaign.table("details")[["run", *TRAINING]]
    timed: pd.DataFrame = campaign.table("runs").assign(data=data).merge(details, on="run")[columns]
    return timed


def _of_run(rows: pd.DataFrame, target: float) -> dict[str, float]:
    epoch, accuracy = rows["epoch"].to_numpy(float), rows["test_accuracy"].to_numpy(float)
    return {
        "best_accuracy": float(accuracy.max()),
        "n_epochs": float(epoch[-1]),
        "epochs_to_target": epochs_to_target(epoch, accuracy, target),
    }
