"""Fit epochs to a target accuracy on mean mini-batch size and staleness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.core.provenance import provenance
from mlperf.datasets.campaigns.trainer_runs import CONFIG
from mlperf.training.quality.epochs import quality_rows
from mlperf.training.quality.judgement import CENSORED, CensoredEpochs, judge_node_counts, left_out_settings
from mlperf.training.quality.quality_model import SUBBATCH, QualityModel

TERMS = (
    "log(mean_minibatch_size)",
    "log1p(staleness)",
    "log(mean_minibatch_size) * log1p(staleness)",
    "log(mean_minibatch_size) * log(mean_minibatch_size)",
    "log1p(staleness) * log1p(staleness)",
)
"""Offered to the selection. The response is log(epochs): effects multiply, and errors are relative."""

SUBBATCH_TERMS = (
    "log(subbatch_size)",
    "log(subbatch_size) * log(mean_minibatch_size)",
    "log(subbatch_size) * log1p(staleness)",
    "log(subbatch_size) * log(subbatch_size)",
)
"""Offered besides where the rows know their sub-batch: the gradient is its mean, so an epoch's step shrinks with it."""

COLUMNS = ("mean_minibatch_size", "staleness")
LEAST_SETTINGS = 8


def fit_quality(
    sources: Sequence[str | Path],
    target_accuracy: float,
    *,
    data: str | None = None,
    terms: Sequence[str] | None = None,
    seed: int = 0,
) -> QualityModel:
    """Fit the runs of campaigns that trained for real, or without a clock, on one data set.

    A target means something on one data set only, so each has a model of its own.

    Parameters
    ----------
    sources : sequence of str or Path
        Folders that ``mlperf collect asgd`` wrote, or bundled names.
    target_accuracy : float
        Accuracy on the test samples that counts as learnt, a fraction.
    data : str, optional
        The data set, where the campaigns hold runs on several.
    terms : sequence of str, optional
        Candidates over ``mean_minibatch_size``, ``staleness`` and ``subbatch_size``; default `TERMS` and `SUBBATCH_TERMS`.
    seed : int
        Of the folds of the left-out error.

    Raises
    ------
    UsageError
        The target is no fraction between 0 and 1.
    DataError
        No epochs were recorded, runs differ in learning rate or momentum, or are on several data sets and ``data`` names none.
    FitError
        Fewer than 8 settings reached the target.
    """
    from mlperf.datasets import read_campaign

    campaigns = [read_campaign(source) for source in sources]
    check_target(target_accuracy)
    rows = quality_rows(campaigns, target_accuracy, data)
    digests = {campaign.name: campaign.sha256 for campaign in campaigns}
    return fit_quality_table(rows, target_accuracy, terms=terms, seed=seed, data_sha256=digests)


def fit_quality_table(
    rows: pd.DataFrame,
    target_accuracy: float,
    *,
    terms: Sequence[str] | None = None,
    seed: int = 0,
    data_sha256: Mapping[str, str] | None = None,
) -> QualityModel:
    """Fit a table of runs: ``mean_minibatch_size`` (samples), ``staleness`` (updates), ``epochs_to_target`` (NaN: not reached).

    A run that did not reach the target is censored: it takes more than its ``n_epochs``, which must then be there. With
    ``subbatch_size`` that is a candidate, too. Columns of the setting (``cnn, n_nodes, n_gpus_per_node, subbatch_size``) keep its
    repeats in one fold; without them every row is a setting of its own.
    """
    check_target(target_accuracy)
    groups = _settings(rows)
    reached = rows["epochs_to_target"].notna().to_numpy()
    n_reached = len(np.unique(groups[reached]))
    if n_reached < LEAST_SETTINGS:
        raise FitError(
            f"got {n_reached} settings that reached the accuracy {target_accuracy:g}, expected at least {LEAST_SETTINGS}",
            hint="Train longer (--epochs), measure more settings, or lower the target.",
        )
    make = _offered(rows, terms)
    logs = np.log(_epochs_or_more(rows))
    known = [*make.columns, *(name for name in ("n_nodes",) if name in rows)]
    inputs = rows[known].assign(**{CENSORED: ~reached}).reset_index(drop=True)
    estimator = make.fit(inputs, logs)
    return QualityModel(
        target_accuracy=float(target_accuracy),
        estimator=estimator,
        rows=rows.assign(predicted_epochs=np.exp(estimator.predict(inputs))),
        n_settings=len(np.unique(groups)),
        n_censored=int((~reached).sum()),
        errors=left_out_settings(make, inputs, logs, groups, seed),
        provenance=provenance(data_sha256=data_sha256, seed=seed),
        judgement=judge_node_counts(make, inputs, logs),
    )


def _offered(rows: pd.DataFrame, terms: Sequence[str] | None) -> CensoredEpochs:
    """The candidates, over the columns that the rows know."""
    if SUBBATCH in rows:
        return CensoredEpochs(tuple(terms or (*TERMS, *SUBBATCH_TERMS)), (*COLUMNS, SUBBATCH))
    return CensoredEpochs(tuple(terms or TERMS), COLUMNS)


def _epochs_or_more(rows: pd.DataFrame) -> FloatArray:
    """Epochs to the target; where it was not reached, the epochs that did not suffice."""
    epochs = rows["epochs_to_target"].to_numpy(float)
    if not np.isnan(epochs).any():
        return epochs
    if "n_epochs" not in rows:
        raise DataError(
            "got runs that did not reach the target and no column n_epochs, expected the epochs that they trained for",
            hint="A run that ended early says that it takes longer: it is not left out.",
        )
    return np.asarray(np.where(np.isnan(epochs), rows["n_epochs"].to_numpy(float), epochs))


def check_target(target_accuracy: float) -> None:
    """Raise UsageError unless 0 < target < 1."""
    if not 0.0 < target_accuracy < 1.0:
        raise UsageError(f"got target accuracy {target_accuracy!r}, expected a fraction between 0 and 1", hint="90 % is 0.9.")


def _settings(rows: pd.DataFrame) -> Any:
    known = [name for name in CONFIG if name in rows]
    if not known:
        return np.arange(len(rows)).astype(str)
    return rows[known].astype(str).agg(" x ".join, axis=1).to_numpy()
