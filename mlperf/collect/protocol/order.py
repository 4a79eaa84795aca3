"""Did the machine drift, and was the order of the campaign fair: diagnostics of a table with rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.models.validation.scores import rank_correlation, ranks

TIME_BINS = 10
CONFOUNDED_SHARE = 0.5
LEAST_VISITS = 3
NOT_CONFOUNDED = float("nan")


@dataclass(frozen=True, slots=True)
class Drift(Shown):
    """How much the machine's speed moved, and whether the order hides it.

    Attributes
    ----------
    reference_correlation : float
        Spearman's correlation of the reference kernel's time with the sequence number.
    round_share, time_share : float
        Share of the variance of log(time / median of its configuration) that rounds, and ten stretches of time, explain.
    order_share : float
        Share (adjusted for the number of networks) of the variance of the sequence rank that the networks explain: near 0 when
        interleaved, 1 when each occupies one stretch; NaN where networks are too few or visited too seldom.
    """

    reference_correlation: float
    round_share: float
    time_share: float
    order_share: float


def drift(frame: pd.DataFrame, key: Sequence[str], target: str = "cpu_s", group: str = "cnn") -> Drift:
    """Diagnose a table.

    Parameters
    ----------
    frame : DataFrame
        With ``key``, ``target``, ``round``, ``sequence`` and ``reference_s``; ``group`` where networks can be told apart.
    key : sequence of str
        Columns that name a configuration.
    target : str
        Column of times, seconds > 0.
    group : str
        Column of networks.
    """
    moments = frame.drop_duplicates("sequence")
    deviation = np.log(frame[target].to_numpy(float) / frame.groupby(list(key))[target].transform("median").to_numpy(float))
    order = ranks(frame["sequence"])
    stretches = np.minimum((order - 1) * TIME_BINS // len(frame), TIME_BINS - 1)
    moved = rank_correlation(moments["reference_s"].to_numpy(float), moments["sequence"].to_numpy(float))
    return Drift(
        reference_correlation=0.0 if np.isnan(moved) else moved,
        round_share=explained(deviation, frame["round"].to_numpy()),
        time_share=explained(deviation, stretches),
        order_share=order_share(moments["sequence"].to_numpy(), moments[group].to_numpy()) if group in frame else NOT_CONFOUNDED,
    )


def check_order(frame: pd.DataFrame, place: str, group: str = "cnn") -> None:
    """Refuse a table whose networks were measured one after another.

    Raises
    ------
    DataError
        Campaign order is confounded with time.
    """
    moments = frame.drop_duplicates("sequence")
    share = order_share(moments["sequence"].to_numpy(), moments[group].to_numpy())
    if share > CONFOUNDED_SHARE:
        raise DataError(
            f"campaign order is confounded with time: the networks explain {100 * share:.0f} % of the order of measuring",
            place=place,
            hint="Visit all configurations in a new random order in every round; `mlperf collect` does.",
        )


def explained(values: FloatArray, labels: np.ndarray) -> float:
    """Share of the variance of ``values`` between the groups of ``labels`` (eta squared)."""
    total = float(np.sum((values - values.mean()) ** 2))
    if total == 0:
        return 0.0
    _, groups = np.unique(labels, return_inverse=True)
    counts = np.bincount(groups)
    means = np.bincount(groups, weights=values) / counts
    return float(np.sum(counts * (means - values.mean()) ** 2) / total)


def order_share(sequence: np.ndarray, networks: np.ndarray) -> float:
    """Adjusted share of the variance of the sequence rank that the networks explain; see `Drift`."""
    n_rows, n_groups = len(sequence), len(set(networks.tolist()))
    if n_groups < 2 or n_rows < LEAST_VISITS * n_groups:
        return NOT_CONFOUNDED
    share = explained(ranks(sequence), networks)
    return 1 - (1 - share) * (n_rows - 1) / (n_rows - n_groups)
