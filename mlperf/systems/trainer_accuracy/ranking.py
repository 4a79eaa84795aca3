"""Which configuration is fastest inside a window of mini-batch sizes: predicted order against the measured one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.systems.trainer_accuracy.costs import TABLE_ONLY, fit_costs
from mlperf.systems.trainer_accuracy.forms import PREDICTING
from mlperf.systems.trainer_accuracy.runs import CONFIG, TrainerRuns, repeat_differences, settings_table
from mlperf.systems.trainer_accuracy.split import predict_settings

WINDOW = 0.25
"""Half width of the paper's window around its centre (138 +- 25 %)."""

LEAST_IN_WINDOW = 6
LARGEST_REGRET = 0.03
WIDER = 1.25


@dataclass(frozen=True, slots=True, eq=False)
class Ranking(Shown):
    """In-window configurations of one network on one machine.

    Attributes
    ----------
    machine, cnn : str
        What was ranked.
    lower, upper : float
        Window on the predicted mean mini-batch, samples.
    table : DataFrame
        In predicted order: the configuration, ``predicted_s``, ``measured_s`` (T_Epoch), predicted and measured mini-batch,
        ``measured_rank``.
    n_pairs, n_beyond_noise, n_wrong : int
        Pairs of configurations; those whose measured difference is beyond the noise of repeats; of these, those predicted in
        the wrong order.
    regret : float
        Measured time of the predicted best over that of the measured best, less 1.
    noise : float
        Difference of two means of the repeats that is noise: twice the mean relative difference between repeats.
    """

    machine: str
    cnn: str
    lower: float
    upper: float
    table: pd.DataFrame
    n_pairs: int
    n_beyond_noise: int
    n_wrong: int
    regret: float
    noise: float


def rank_windows(runs: TrainerRuns, trained_on: str, form: str = PREDICTING) -> list[Ranking]:
    """Rank the in-window configurations of every network on every machine where at least six were run.

    The costs are those of ``trained_on`` on that machine, from components.csv alone; a machine without runs of it is left out. The
    window is centred on the median predicted mini-batch and 25 % wide to either side, as in the paper; where fewer than six
    configurations lie inside, it is widened step by step until six do.
    """
    settings, noise = settings_table(runs.table), repeat_differences(runs.table)
    found = []
    for machine, here in settings.groupby("machine", sort=True):
        train = here[here["cnn"] == trained_on].reset_index(drop=True)
        if not (train["n_nodes"] > 1).any():
            continue
        costs = fit_costs(train, runs.cnns, TABLE_ONLY)
        for cnn, rows in here.groupby("cnn", sort=True):
            if len(rows) < LEAST_IN_WINDOW:
                continue
            measured = rows.reset_index(drop=True)
            predicted = predict_settings(costs, measured, [form])
            own = noise[(noise["machine"] == machine) & (noise["cnn"] == cnn)]
            found.append(_ranking(str(machine), str(cnn), measured, predicted, 2.0 * float(own["epoch_s"].mean())))
    return found


def window(minibatch: Sequence[float], least: int = LEAST_IN_WINDOW, half_width: float = WINDOW) -> tuple[float, float]:
    """Bounds around the median of mini-batch sizes, widened by factors of 1.25 until ``least`` of them lie inside."""
    sizes = np.asarray(minibatch, float)
    centre, width = float(np.median(sizes)), half_width
    while ((sizes >= centre / (1.0 + width)) & (sizes <= centre * (1.0 + width))).sum() < min(least, sizes.size):
        width *= WIDER
    return centre / (1.0 + width), centre * (1.0 + width)


def _ranking(machine: str, cnn: str, measured: pd.DataFrame, predicted: pd.DataFrame, noise: float) -> Ranking:
    lower, upper = window(predicted["mean_minibatch_size"].tolist())
    table = measured[CONFIG].assign(
        predicted_s=predicted["epoch_s"],
        measured_s=measured["epoch_s"],
        predicted_minibatch_size=predicted["mean_minibatch_size"],
        measured_minibatch_size=measured["mean_minibatch_size"],
    )
    table = table[table["predicted_minibatch_size"].between(lower, upper)].sort_values("predicted_s", ignore_index=True)
    time_s = table["measured_s"].to_numpy(float)
    first, second = np.triu_indices(len(table), 1)
    # Rows are in predicted order: the second of each pair should be the slower one.
    difference = time_s[second] / time_s[first] - 1.0
    beyond = np.abs(difference) > (noise if np.isfinite(noise) else 0.0)
    return Ranking(
        machine=machine,
        cnn=cnn,
        lower=lower,
        upper=upper,
        table=table.assign(measured_rank=table["measured_s"].rank().astype(int)),
        n_pairs=len(first),
        n_beyond_noise=int(beyond.sum()),
        n_wrong=int((beyond & (difference < 0.0)).sum()),
        regret=float(time_s[0] / time_s.min() - 1.0),
        noise=noise,
    )
