"""Observed mini-batch sizes and staleness beside the distributions that `mlperf predict` gives for a network left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets.campaigns.trainer_runs import SETTING, TrainerRuns, settings_table
from mlperf.studies.trainer.predictions import predict_settings
from mlperf.studies.trainer.protocols import Split
from mlperf.systems.base.distributions import Distribution
from mlperf.training.model import Model

QUANTITIES = ("minibatch_size", "staleness")


@dataclass(frozen=True, slots=True, eq=False)
class HistogramComparison:
    """One observed histogram and what was predicted for it.

    Attributes
    ----------
    setting : mapping
        Machine and configuration.
    quantity : str
        ``minibatch_size`` (samples) or ``staleness`` (updates).
    observed, predicted : Distribution
        All repeats together; of a model that has not seen the network.
    noise : float
        Mean total variation between the histograms of two repeats; NaN with one.
    """

    setting: dict[str, Any]
    quantity: str
    observed: Distribution
    predicted: Distribution
    noise: float


def compare_histograms(split: Split, model: Model, runs: TrainerRuns) -> Iterator[HistogramComparison]:
    """Histograms of every setting of a split beside the predicted distributions.

    Parameters
    ----------
    split : Split
        What is asked.
    model : Model
        Has not seen it.
    runs : TrainerRuns
        With the histograms of the split's runs.

    Yields
    ------
    HistogramComparison
        Setting by setting, of each of `QUANTITIES`.
    """
    settings = settings_table(split.test)
    found = predict_settings(model, settings, runs.cnns, distributions=True, n_draws=2)
    histograms = runs.histograms.merge(split.test[["campaign", "run", *SETTING]], on=["campaign", "run"])
    by_setting = dict(list(histograms.groupby([*SETTING, "quantity"], sort=False)))
    predicted = {"minibatch_size": found.minibatch, "staleness": found.staleness}
    for number, setting in enumerate(settings[SETTING].to_dict("records")):
        for quantity in QUANTITIES:
            rows = by_setting[(*setting.values(), quantity)]
            repeats = [observed_distribution(part) for _, part in rows.groupby(["campaign", "run"], sort=True)]
            own = (predicted[quantity] or ())[number]
            yield HistogramComparison(
                {str(name): value for name, value in setting.items()},
                quantity,
                observed_distribution(rows),
                own,
                repeat_noise(repeats),
            )


def observed_distribution(rows: pd.DataFrame) -> Distribution:
    """Relative frequencies of a histogram's rows (``value``, ``count``), repeats added up."""
    counts = rows.groupby("value", sort=True)["count"].sum()
    return Distribution(counts.index.to_numpy(float), counts.to_numpy(float) / counts.sum())


def repeat_noise(repeats: Sequence[Distribution]) -> float:
    """Mean total variation over pairs of repeats; NaN with fewer than two."""
    pairs = [a.total_variation(b) for number, a in enumerate(repeats) for b in repeats[number + 1 :]]
    return float(np.mean(pairs)) if pairs else float("nan")


def largest_difference(one: Distribution, other: Distribution) -> float:
    """Kolmogorov-Smirnov distance: the largest difference of the distribution functions.

    Parameters
    ----------
    one, other : Distribution
        Over values of one unit.

    Returns
    -------
    float
        From 0 to 1.
    """
    values = np.union1d(one.values, other.values)
    return float(np.abs(_cdf(one, values) - _cdf(other, values)).max())


def _cdf(distribution: Distribution, values: FloatArray) -> FloatArray:
    steps = np.concatenate(([0.0], np.cumsum(distribution.probabilities)))
    return np.asarray(steps[np.searchsorted(distribution.values, values, side="right")])


def distribution_table(found: Sequence[HistogramComparison]) -> pd.DataFrame:
    """How far predicted distributions are from observed ones.

    Parameters
    ----------
    found : sequence of HistogramComparison
        One a row.

    Returns
    -------
    DataFrame
        The setting, ``quantity``, ``mean_error`` and ``std_error`` (fractions), ``total_variation`` and ``largest_difference``
        (0 to 1), ``repeat_variation``: total variation of two repeats, NaN with one.
    """
    return pd.DataFrame(
        [
            {
                **each.setting,
                "quantity": each.quantity,
                "mean_error": abs(each.predicted.mean / each.observed.mean - 1.0),
                "std_error": abs(each.predicted.std / each.observed.std - 1.0),
                "total_variation": each.observed.total_variation(each.predicted),
                "largest_difference": largest_difference(each.observed, each.predicted),
                "repeat_variation": each.noise,
            }
            for each in found
        ]
    )


def examples(found: Sequence[HistogramComparison]) -> tuple[HistogramComparison, ...]:
    """The settings on most nodes with a middling number of GPUs: few enough to draw."""
    if not found:
        return ()
    largest = max(int(each.setting["n_nodes"]) for each in found)
    there = [each for each in found if each.setting["n_nodes"] == largest]
    gpus = sorted({int(each.setting["n_gpus_per_node"]) for each in there})
    return tuple(each for each in there if each.setting["n_gpus_per_node"] == gpus[len(gpus) // 2])
