"""How sure the draws of a search are of orders and of windows, beside how often they are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.children import tied
from mlperf.datasets.campaigns.campaign import Campaign, read_campaign
from mlperf.datasets.campaigns.trainer_runs import CONFIG, TrainerRuns, settings_table
from mlperf.planning.component_times import RUNS as SIDE_BY_SIDE
from mlperf.planning.component_times import draw_times, predict_times
from mlperf.planning.inputs import configuration_inputs
from mlperf.planning.search.draws import draw_candidates
from mlperf.planning.search.one_machine import N_DRAWS, minibatch_strays
from mlperf.planning.search.windows import MEAN, Window
from mlperf.studies.judgement.judge import is_without
from mlperf.studies.judgement.plan import ROUNDS_FROM, TIME_SCALE
from mlperf.studies.judgement.seen import judged_splits, kernels_without
from mlperf.studies.trainer.predictions import EPOCH, RUNS, train_split
from mlperf.studies.trainer.protocols import Split
from mlperf.systems.base.times import RunGrid
from mlperf.training.model import Model
from mlperf.training.training import train_campaign

SETTING = CONFIG[1:]
BANDS = (0.5, 0.7, 0.9, 0.98, 1.0)
"""Shares of draws between which pairs and windows are counted together."""

WIDTHS = (0.1, 0.25)
"""Half-widths of windows about measured mini-batches."""

NEVER_KNOWS = 0.25
"""Brier score of one who tells every case with 0.5."""

KERNELS, ONLY_RUNS = "kernels measured", "runs alone"
"""What steps of networks that are left out follow from."""


@dataclass(frozen=True, slots=True, eq=False)
class Sureness:
    """What was told of each left-out network, and what held.

    Attributes
    ----------
    orders : DataFrame
        One row a pair of settings of a network: ``machine, cnn, steps`` (`KERNELS` or `ONLY_RUNS`), ``told`` (share of the draws
        that have the order most of them have, 0.5 to 1) and ``held`` (whether it was measured so).
    windows : DataFrame
        One row a setting and a window of `WIDTHS` about the measured mini-batch of another setting of its network: ``machine, cnn,
        steps``, ``told`` (share of the draws that agree, 0.5 to 1) and ``held`` (whether it was measured as they say).
    """

    orders: pd.DataFrame
    windows: pd.DataFrame


def judge_sureness(
    runs: TrainerRuns, *, kernels: Campaign | str = ROUNDS_FROM, time_scale: float = TIME_SCALE, jobs: int = 1
) -> Sureness:
    """Leave each network out and draw its settings as `mlperf search` does.

    Parameters
    ----------
    runs : TrainerRuns
        Of `mlperf.studies.judgement.runs.read_judgement`.
    kernels : Campaign or str
        Whose kernels and steps are known of networks that are not left out.
    time_scale : float
        How many times as long they take on the machines of the runs.
    jobs : int
        Parallel workers; no figure depends on it.
    """
    measured = read_campaign(kernels) if isinstance(kernels, str) else kernels
    splits = list(judged_splits(runs.table))
    by_network = {name: [split for split in splits if is_without(split, name)] for name in runs.table["cnn"].unique()}
    tasks = [
        *((own, kernels_without(measured, name, time_scale)) for name, own in by_network.items()),
        *((own, None) for own in by_network.values()),
    ]
    found = Parallel(n_jobs=jobs)(delayed(tied(_of_network))(own, runs, seen) for own, seen in tasks)
    orders, windows = (pd.concat([pair[place] for pair in found], ignore_index=True) for place in (0, 1))
    return Sureness(orders, windows)


def _of_network(splits: Sequence[Split], runs: TrainerRuns, seen: Campaign | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    kernels = None if seen is None else train_campaign(seen)
    parts = [drawn_settings(train_split(split, runs, kernels), split, runs) for split in splits]
    steps = KERNELS if kernels else ONLY_RUNS
    orders, windows = (pd.concat([part[place] for part in parts], ignore_index=True).assign(steps=steps) for place in (0, 1))
    return orders, windows


def drawn_settings(model: Model, split: Split, runs: TrainerRuns) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pairs and windows of the settings of one network (see `Sureness`).

    Parameters
    ----------
    model : Model
        Trained on what the split allows.
    split : Split
        Whose ``test`` holds the runs of one network.
    runs : TrainerRuns
        Where they come from.
    """
    settings = settings_table(split.test)
    (cnn,) = settings["cnn"].unique()
    configs = settings[SETTING].assign(cnn=0, dataset_size=settings["dataset_size"].astype(int))
    inputs, rng = configuration_inputs(model, [runs.cnns[cnn]], RUNS, configs), np.random.default_rng(0)
    predicted = predict_times(model, inputs)
    drawn = draw_times(model, inputs, predicted, kind=SIDE_BY_SIDE, n_draws=N_DRAWS, rng=rng)
    strays = minibatch_strays(model, inputs, drawn, predicted.method, rng)
    measured = settings[MEAN].to_numpy(float)
    key = {"machine": split.machine, "cnn": cnn}
    windows = []
    for number, centre in enumerate(measured):
        others = np.arange(len(measured)) != number
        for width in WIDTHS:
            window = Window(MEAN, (1.0 - width) * centre, (1.0 + width) * centre)
            draws = draw_candidates(drawn, predicted.times, inputs.run, (window,), cost_of=_seconds, strays=strays)
            windows.append(told_and_held(draws.window_probability[others], window.holds(measured)[others]))
    epochs = draw_candidates(drawn, predicted.times, inputs.run, (), cost_of=_seconds).cost
    return order_table(epochs, settings[EPOCH].to_numpy(float)).assign(**key), pd.concat(windows, ignore_index=True).assign(**key)


def order_table(drawn: FloatArray, measured: FloatArray) -> pd.DataFrame:
    """Every pair: in how many draws, shape (n_draws, n_rows), one is below the other, and whether it is, shape (n_rows,)."""
    first, second = np.triu_indices(len(measured), 1)
    below = np.mean(drawn[:, first] < drawn[:, second], axis=0)
    return told_and_held(below, measured[first] < measured[second])


def told_and_held(share: FloatArray, is_so: BoolArray) -> pd.DataFrame:
    """``told``: the share of draws that say what most of them say; ``held``: whether that is so."""
    return pd.DataFrame({"told": np.maximum(share, 1.0 - share), "held": np.where(share >= 0.5, is_so, ~is_so)})


def band_table(rows: pd.DataFrame) -> pd.DataFrame:
    """By how sure it was told, shape (n_bands, ...): ``low, high`` (of `BANDS`), ``n``, means of ``told`` and of ``held``."""
    band = np.clip(np.searchsorted(BANDS, rows["told"], side="right") - 1, 0, len(BANDS) - 2)
    found = []
    for number in range(len(BANDS) - 1):
        own = rows[band == number]
        found.append((BANDS[number], BANDS[number + 1], len(own), own["told"].mean(), own["held"].mean()))
    return pd.DataFrame(found, columns=["low", "high", "n", "told", "held"])


def brier_score(rows: pd.DataFrame) -> float:
    """Mean square of what was told less what held; 0 of an oracle, `NEVER_KNOWS` of one who never knows (Brier, 1950)."""
    return float(np.mean(np.square(rows["told"] - rows["held"].astype(float))))


def _seconds(seconds: FloatArray, _: RunGrid) -> FloatArray:
    return seconds
