"""Which configuration is fastest inside a window of mini-batch sizes: predicted order against the measured one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.datasets.campaigns.trainer_runs import CONFIG, TrainerRuns, repeat_differences, settings_table
from mlperf.studies.trainer.costs import TABLE_ONLY, fit_costs
from mlperf.studies.trainer.forms import PREDICTING
from mlperf.studies.trainer.split import TRAINED_ON, predict_settings

WINDOW = 0.25
"""Half width of the paper's window around its centre (138 +- 25 %)."""

LEAST_IN_WINDOW = 6
WIDER, WIDEST = 1.25, 2.5
TOGETHER = "all machines"


@dataclass(frozen=True, slots=True, eq=False)
class Ranking(Shown):
    """In-window configurations of one network on one machine, or on all together.

    Attributes
    ----------
    machine, cnn, form : str
        What was ranked, and by which form of the equations.
    lower, upper : float
        Window on the predicted mean mini-batch, samples; the same on every machine.
    table : DataFrame
        In predicted order: machine and configuration, ``predicted_s``, ``measured_s`` (T_Epoch), predicted and measured mini-batch,
        ``fitted_on`` (whether its own runs were among those fitted), ``measured_rank``.
    n_pairs, n_beyond_noise, n_tied, n_wrong : int
        Pairs of configurations; those whose measured difference is beyond the noise of repeats; of these, those predicted in the
        wrong order, by less than the noise (predicted as a tie) or by more.
    regret : float
        Measured time of the predicted best over that of the measured best, less 1.
    noise : float
        Difference of two configurations that is noise: twice the mean relative difference between repeats.
    """

    machine: str
    cnn: str
    form: str
    lower: float
    upper: float
    table: pd.DataFrame
    n_pairs: int
    n_beyond_noise: int
    n_tied: int
    n_wrong: int
    regret: float
    noise: float


def rank_windows(runs: TrainerRuns, trained_on: str, form: str = PREDICTING) -> list[Ranking]:
    """Rank the in-window configurations of every network: on each machine where at least six were run, and on all together.

    Costs come from components.csv alone of ``trained_on`` on that machine: of its runs on one and two nodes for the network itself,
    so that more nodes are held out, and of all its runs for other networks. A machine without runs of it is left out. The window is
    centred on the median predicted mini-batch and 25 % wide to either side, as in the paper; where fewer than six configurations of
    a machine lie inside, it is widened step by step until six do, but not beyond a factor of 2.5 to either side.
    """
    configurations = predicted_configurations(runs, trained_on, form)
    noise = repeat_differences(runs.table)
    found = []
    for cnn, rows in configurations.groupby("cnn", sort=True):
        sizes = rows.groupby("machine")["predicted_s"].transform("size")
        enough = rows[sizes >= LEAST_IN_WINDOW]
        if enough.empty:
            continue
        lower, upper = window([part["predicted_minibatch_size"].tolist() for _, part in enough.groupby("machine", sort=True)])
        if upper > WIDEST**2 * lower:
            continue
        doubt = 2.0 * float(noise.loc[noise["cnn"] == cnn, "epoch_s"].mean())
        inside = enough[enough["predicted_minibatch_size"].between(lower, upper)]
        machines = [(str(machine), part) for machine, part in inside.groupby("machine", sort=True)]
        for machine, part in [*machines, (TOGETHER, inside)] if len(machines) > 1 else machines:
            found.append(ranking(machine, str(cnn), form, (lower, upper), part, doubt))
    return found


def predicted_configurations(runs: TrainerRuns, trained_on: str, form: str) -> pd.DataFrame:
    """Predicted and measured epoch time and mini-batch of every setting on machines where the costs of ``trained_on`` are known."""
    parts = list(_by_machine(settings_table(runs.table), runs, trained_on, form))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["machine", *CONFIG, "predicted_s"])


def _by_machine(settings: pd.DataFrame, runs: TrainerRuns, trained_on: str, form: str) -> Iterator[pd.DataFrame]:
    for _, here in settings.groupby("machine", sort=True):
        own = here["cnn"] == trained_on
        few = own & here["n_nodes"].isin(TRAINED_ON)
        for train, test in ((few, own), (own, ~own)):
            if not (here.loc[train, "n_nodes"] > 1).any() or not test.any():
                continue
            measured = here[test].reset_index(drop=True)
            costs = fit_costs(here[train].reset_index(drop=True), runs.cnns, TABLE_ONLY)
            found = predict_settings(costs, measured, [form])
            yield measured[["machine", *CONFIG]].assign(
                predicted_s=found["epoch_s"],
                measured_s=measured["epoch_s"],
                predicted_minibatch_size=found["mean_minibatch_size"],
                measured_minibatch_size=measured["mean_minibatch_size"],
                fitted_on=train[test].to_numpy(),
            )


def window(machines: Sequence[Sequence[float]], least: int = LEAST_IN_WINDOW, half_width: float = WINDOW) -> tuple[float, float]:
    """Bounds around the median of mini-batch sizes, widened by factors of 1.25 until ``least`` of every machine's lie inside."""
    sizes = [np.asarray(each, float) for each in machines]
    centre, width = float(np.median(np.concatenate(sizes))), half_width
    while any(count_inside(each, centre, width) < min(least, each.size) for each in sizes):
        width *= WIDER
    return centre / (1.0 + width), centre * (1.0 + width)


def count_inside(sizes: FloatArray, centre: float, width: float) -> int:
    """How many sizes lie between centre / (1 + width) and centre * (1 + width)."""
    return int(((sizes >= centre / (1.0 + width)) & (sizes <= centre * (1.0 + width))).sum())


def ranking(machine: str, cnn: str, form: str, bounds: tuple[float, float], rows: pd.DataFrame, noise: float) -> Ranking:
    """Compare the predicted order of in-window configurations with the measured one; without repeats nothing is noise."""
    table = rows.sort_values("predicted_s", ignore_index=True)
    time_s = table["measured_s"].to_numpy(float)
    first, second = np.triu_indices(len(table), 1)
    # Rows are in predicted order: the second of each pair should be the slower one.
    difference, said = (times[second] / times[first] - 1.0 for times in (time_s, table["predicted_s"].to_numpy(float)))
    doubt = noise if np.isfinite(noise) else 0.0
    beyond = np.abs(difference) > doubt
    reversed_ = beyond & (difference < 0.0)
    return Ranking(
        machine=machine,
        cnn=cnn,
        form=form,
        lower=bounds[0],
        upper=bounds[1],
        table=table.assign(measured_rank=table["measured_s"].rank().astype(int)),
        n_pairs=len(first),
        n_beyond_noise=int(beyond.sum()),
        n_tied=int((reversed_ & (said <= doubt)).sum()),
        n_wrong=int((reversed_ & (said > doubt)).sum()),
        regret=float(time_s[0] / time_s.min() - 1.0),
        noise=noise,
    )
