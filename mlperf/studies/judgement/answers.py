"""What `mlperf train` and `mlperf predict` say of the settings of a split, and the baselines beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mlperf.datasets.campaigns.trainer_runs import CONFIG, TrainerRuns, median_runs, settings_table
from mlperf.planning.run_prediction import Prediction
from mlperf.specs.network.cnn import CnnSpec
from mlperf.studies.trainer.gates import records
from mlperf.studies.trainer.predictions import (
    EPOCH,
    MODEL,
    STEP_ALONE,
    beside,
    model_rows,
    predict_settings,
    train_split,
    with_paper_terms,
)
from mlperf.studies.trainer.protocols import Split
from mlperf.studies.trainer.scores import JUDGED
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.training.model import Model

PAPER, NEIGHBOUR = "the paper", "the largest single neighbour"
METHODS = (MODEL, STEP_ALONE, PAPER, NEIGHBOUR)


def answer_rows(split: Split, runs: TrainerRuns, kernels: Model | None) -> pd.DataFrame:
    """Every answer beside what was measured.

    Parameters
    ----------
    split : Split
        What is fitted and what is asked.
    runs : TrainerRuns
        With the ``dataset_size`` of an epoch in the table.
    kernels : Model or None
        Of kernels that were measured alone; without one steps follow from runs.

    Returns
    -------
    DataFrame
        As `mlperf.studies.trainer.predictions.split_rows`, with ``method`` of `METHODS`, ``n_repeats`` of the setting and
        ``exchange_told``: whether the model says that its rows tell one form of the exchange from all others.
    """
    settings = settings_table(split.test)
    model = train_split(split, runs, kernels)
    found = predict_settings(model, settings, runs.cnns)
    paper = paper_prediction(split, runs, kernels, settings)
    near = neighbours(split.train, settings, runs.cnns)
    parts = [
        *model_rows(settings, found, split.test),
        beside(settings, EPOCH, STEP_ALONE, gradient_epochs(settings, found).to_numpy(float)),
        *(beside(settings, name, PAPER, getattr(paper, name)) for name in OUTPUTS),
        *(beside(settings, name, NEIGHBOUR, near[name].to_numpy(float)) for name in JUDGED),
    ]
    rows = pd.concat(parts, ignore_index=True).merge(settings[[*CONFIG, "n_repeats"]], on=CONFIG, validate="many_to_one")
    told = model.runs is not None and model.runs.fits.tells_exchange
    return rows.assign(exchange_told=told, **split.key)


def paper_prediction(split: Split, runs: TrainerRuns, kernels: Model | None, settings: pd.DataFrame) -> Prediction:
    """The paper's regressors fitted on the run of the median T_Update of each setting, in the paper's closed form.

    Parameters
    ----------
    split : Split
        What is fitted and what is asked.
    runs : TrainerRuns
        Where the split's rows come from.
    kernels : Model or None
        Of kernels that were measured alone; without one steps follow from runs.
    settings : DataFrame, shape (n_settings, ...)
        What is asked, one row a setting (see `mlperf.datasets.campaigns.trainer_runs.settings_table`).

    Returns
    -------
    Prediction
        One configuration a setting, in their order.

    References
    ----------
    Oyama et al. (SPRINT), Tables 3 and 4 (terms), eqs. 4 to 8 (closed form).
    """
    only = replace(runs, campaigns=tuple(median_runs(campaign) for campaign in runs.campaigns_of(split.train)))
    left = pd.concat([campaign.table("runs").assign(campaign=campaign.name) for campaign in only.campaigns])
    model = train_split(replace(split, train=left), only, kernels, left_out_runs=False)
    return predict_settings(with_paper_terms(model), settings, runs.cnns, closed="paper", method="paper", n_draws=2)


def gradient_epochs(settings: pd.DataFrame, found: Prediction) -> pd.Series:
    """Samples of an epoch times the predicted gradient time over nodes, GPUs and sub-batch.

    Parameters
    ----------
    settings : DataFrame, shape (n_settings, ...)
        The columns of `CONFIG` and ``dataset_size``, samples.
    found : Prediction
        Of these settings.

    Returns
    -------
    Series, shape (n_settings,)
        Seconds of an epoch in which nobody waits.
    """
    product: pd.Series = settings[CONFIG[1:]].prod(axis=1)
    return settings["dataset_size"] * found.gpu_breakdown_s["compute_gradient"] / product


def neighbours(fitted: pd.DataFrame, asked: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """What the fitted run says that is most alike each asked setting: T_Update as it was, the others in proportion to M n b.

    Returns
    -------
    DataFrame
        One row an asked setting: ``epoch_s, update_iteration_s, mean_minibatch_size``.
    """
    rows = []
    for row in records(asked):
        near = fitted.iloc[most_alike(fitted, row, cnns)]
        scale = float(np.prod([row[name] / near[name] for name in CONFIG[1:]]))
        rows.append(
            {
                EPOCH: near[EPOCH] / scale,
                "update_iteration_s": near["update_iteration_s"],
                "mean_minibatch_size": near["mean_minibatch_size"] * scale,
            }
        )
    return pd.DataFrame(rows)


def most_alike(fitted: pd.DataFrame, asked: Mapping[str, object], cnns: Mapping[str, CnnSpec]) -> int:
    """Position of the run of the same network, or of the nearest number of parameters; then sub-batch, most nodes, GPUs.

    Of equals the first that was made.

    Parameters
    ----------
    fitted : DataFrame, shape (n_runs, ...)
        The columns of `CONFIG` and ``run``.
    asked : mapping
        One setting by the names of `CONFIG`.
    cnns : mapping of str to CnnSpec
        Every network of both.

    Returns
    -------
    int
        Row of ``fitted``.
    """
    names = fitted["cnn"].to_numpy(str)
    logs = {name: abs(np.log(cnns[name].n_params / cnns[str(asked["cnn"])].n_params)) for name in set(names)}
    keys: Sequence[np.ndarray] = (
        names != asked["cnn"],
        np.array([logs[name] for name in names]),
        (fitted["subbatch_size"] != asked["subbatch_size"]).to_numpy(),
        -fitted["n_nodes"].to_numpy(),
        np.abs(fitted["n_gpus_per_node"].to_numpy() - asked["n_gpus_per_node"]),
        fitted["run"].to_numpy(),
    )
    return int(np.lexsort(tuple(reversed(keys)))[0])
