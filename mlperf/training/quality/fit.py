"""Fit epochs to a target accuracy on mean mini-batch size and staleness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import FitError, UsageError
from mlperf.core.provenance import provenance
from mlperf.datasets.campaigns.trainer_runs import CONFIG
from mlperf.models import StepwiseOLS
from mlperf.training.fits.left_out import left_out_error
from mlperf.training.quality.epochs import quality_rows
from mlperf.training.quality.quality_model import QualityModel

TERMS = (
    "log(mean_minibatch_size)",
    "log1p(staleness)",
    "log(mean_minibatch_size) * log1p(staleness)",
    "log(mean_minibatch_size) * log(mean_minibatch_size)",
    "log1p(staleness) * log1p(staleness)",
)
"""Offered to the selection. The response is log(epochs): effects multiply, and errors are relative."""

COLUMNS = ["mean_minibatch_size", "staleness"]
LEAST_SETTINGS = 8


def fit_quality(
    sources: Sequence[str | Path], target_accuracy: float, *, terms: Sequence[str] = TERMS, seed: int = 0
) -> QualityModel:
    """Fit the runs of campaigns that trained for real.

    Parameters
    ----------
    sources : sequence of str or Path
        Folders that ``mlperf collect asgd`` wrote, or bundled names.
    target_accuracy : float
        Accuracy on the test samples that counts as learnt, a fraction.
    terms : sequence of str
        Candidates over ``mean_minibatch_size`` and ``staleness``.
    seed : int
        Of the folds of the left-out error.

    Raises
    ------
    UsageError
        The target is no fraction between 0 and 1.
    DataError
        No epochs were recorded, or runs differ in learning rate or momentum.
    FitError
        Fewer than 8 settings reached the target.
    """
    from mlperf.datasets import read_campaign

    campaigns = [read_campaign(source) for source in sources]
    check_target(target_accuracy)
    rows = quality_rows(campaigns, target_accuracy)
    digests = {campaign.name: campaign.sha256 for campaign in campaigns}
    return fit_quality_table(rows, target_accuracy, terms=terms, seed=seed, data_sha256=digests)


def fit_quality_table(
    rows: pd.DataFrame,
    target_accuracy: float,
    *,
    terms: Sequence[str] = TERMS,
    seed: int = 0,
    data_sha256: Mapping[str, str] | None = None,
) -> QualityModel:
    """Fit a table of runs: ``mean_minibatch_size`` (samples), ``staleness`` (updates), ``epochs_to_target`` (NaN: not reached).

    Columns of the setting (``cnn, n_nodes, n_gpus_per_node, subbatch_size``) keep its repeats in one fold; without them every row
    is a setting of its own.
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
    columns, logs = rows.loc[reached, COLUMNS], np.log(rows.loc[reached, "epochs_to_target"].to_numpy(float))

    def make() -> StepwiseOLS:
        return StepwiseOLS(terms=list(terms), noise="absolute", report="none")

    estimator = make().fit(columns, logs, groups=groups[reached])
    predicted = np.exp(estimator.predict(rows[COLUMNS]))
    return QualityModel(
        target_accuracy=float(target_accuracy),
        estimator=estimator,
        rows=rows.assign(predicted_epochs=predicted),
        n_settings=len(np.unique(groups)),
        n_censored=int((~reached).sum()),
        errors=left_out_error(make, columns, logs, groups[reached], seed=seed, unit=np.exp),
        provenance=provenance(data_sha256=data_sha256, seed=seed),
    )


def check_target(target_accuracy: float) -> None:
    """Raise UsageError unless 0 < target < 1."""
    if not 0.0 < target_accuracy < 1.0:
        raise UsageError(f"got target accuracy {target_accuracy!r}, expected a fraction between 0 and 1", hint="90 % is 0.9.")


def _settings(rows: pd.DataFrame) -> Any:
    known = [name for name in CONFIG if name in rows]
    if not known:
        return np.arange(len(rows)).astype(str)
    return rows[known].astype(str).agg(" x ".join, axis=1).to_numpy()
