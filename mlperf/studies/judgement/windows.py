"""Choices inside windows around measured mini-batch sizes, and pairs of settings that are told in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.datasets.campaigns.trainer_runs import CONFIG
from mlperf.studies.trainer.predictions import EPOCH, MODEL, STEP_ALONE
from mlperf.studies.trainer.protocols import LEFT_OUT
from mlperf.studies.trainer.ranking import WINDOW

MINIBATCH = "mean_minibatch_size"
CLOSE = 0.1
"""Relative difference of measured epochs up to which a pair is close."""

CHOOSERS = (MODEL, STEP_ALONE)


@dataclass(frozen=True, slots=True, eq=False)
class Competition:
    """The settings of one network on one machine; arrays of shape (n_settings,), in the order of nodes, GPUs, sub-batch.

    Attributes
    ----------
    machine, cnn : str
        Whose they are.
    settings : list of tuple
        Nodes, GPUs of each, sub-batch.
    size, epoch_s : array
        Measured mean mini-batch and epoch.
    said_size : array
        Predicted mean mini-batch.
    said_epoch_s : mapping of str to array
        Predicted epoch by method, of `CHOOSERS`.
    """

    machine: str
    cnn: str
    settings: list[tuple[int, ...]]
    size: FloatArray
    epoch_s: FloatArray
    said_size: FloatArray
    said_epoch_s: Mapping[str, FloatArray]

    def windows(self) -> Iterator[tuple[int, BoolArray]]:
        """Every setting that is the centre of a window that counts, and which settings that holds by their measured size."""
        for centre, size in enumerate(self.size):
            held = in_window(self.size, size)
            if held.sum() > 1:
                yield centre, held


def in_window(sizes: FloatArray, centre: float) -> BoolArray:
    """Which mini-batch sizes lie in the window of `WINDOW` around one.

    Parameters
    ----------
    sizes : array, shape (n_settings,)
        Samples per update.
    centre : float
        Samples per update, > 0.

    Returns
    -------
    array of bool, shape (n_settings,)
    """
    return np.asarray((sizes >= (1.0 - WINDOW) * centre) & (sizes <= (1.0 + WINDOW) * centre))


def competitions(rows: pd.DataFrame) -> Iterator[Competition]:
    """The settings of every machine and network, with the predictions of the split in which it was left out.

    Parameters
    ----------
    rows : DataFrame
        Of `mlperf.studies.judgement.answers.answer_rows`.

    Yields
    ------
    Competition
        In the order in which the rows come.
    """
    left_out = rows[rows["protocol"] == LEFT_OUT]
    for (machine, cnn), part in left_out.groupby(["machine", "cnn"], sort=False):
        wide = part.pivot(index=CONFIG[1:], columns=["method", "quantity"], values=["measured", "predicted"]).sort_index()
        yield Competition(
            str(machine),
            str(cnn),
            list(wide.index),
            wide["measured", MODEL, MINIBATCH].to_numpy(float),
            wide["measured", MODEL, EPOCH].to_numpy(float),
            wide["predicted", MODEL, MINIBATCH].to_numpy(float),
            {method: wide["predicted", method, EPOCH].to_numpy(float) for method in CHOOSERS},
        )


def window_table(rows: pd.DataFrame, noise: Mapping[str, float]) -> pd.DataFrame:
    """Choice and regret in every window.

    The model takes the setting with the shortest predicted epoch of those whose predicted mini-batch lies in the window, or else
    the one nearest the centre. The gradient alone says nothing of mini-batches: it is told which settings the window holds.

    Parameters
    ----------
    rows : DataFrame
        Of `mlperf.studies.judgement.answers.answer_rows`.
    noise : mapping of str to float
        By quantity, fractions.

    Returns
    -------
    DataFrame
        One row a (window, method): ``machine, cnn, centre`` (the setting), ``size`` (its measured mini-batch), ``n_settings`` that
        the window holds, ``method``, ``chosen``, ``best`` (settings), ``regret`` (a fraction, not below 0) and ``outside``: whether
        the choice's measured mini-batch lies outside by more than the noise.
    """
    found = []
    for each in competitions(rows):
        for centre, held in each.windows():
            best = int(np.flatnonzero(held)[np.argmin(each.epoch_s[held])])
            for method in CHOOSERS:
                taken = choose(each, method, centre, held)
                found.append(
                    {
                        "machine": each.machine,
                        "cnn": each.cnn,
                        "centre": each.settings[centre],
                        "size": each.size[centre],
                        "n_settings": int(held.sum()),
                        "method": method,
                        "chosen": each.settings[taken],
                        "best": each.settings[best],
                        "regret": max(0.0, each.epoch_s[taken] / each.epoch_s[best] - 1.0),
                        "outside": overshoot(each.size[taken], each.size[centre]) > noise[MINIBATCH],
                    }
                )
    return pd.DataFrame(found)


def choose(each: Competition, method: str, centre: int, held: BoolArray) -> int:
    """The setting that a method takes in a window; of equals the first.

    Parameters
    ----------
    each : Competition
        The settings.
    method : str
        One of `CHOOSERS`.
    centre : int
        Position of the setting around whose measured size the window lies.
    held : array of bool, shape (n_settings,)
        What the window holds by measured sizes, which only a method without sizes of its own is told.

    Returns
    -------
    int
        Its position.
    """
    offered = in_window(each.said_size, each.size[centre]) if method == MODEL else held
    if not offered.any():
        return int(np.argmin(np.abs(each.said_size - each.size[centre])))
    return int(np.flatnonzero(offered)[np.argmin(each.said_epoch_s[method][offered])])


def overshoot(size: float, centre: float) -> float:
    """How far a mini-batch size lies outside the window around another.

    Parameters
    ----------
    size, centre : float
        Samples per update, > 0.

    Returns
    -------
    float
        A fraction of the bound that it passes; 0 inside.
    """
    lower, upper = (1.0 - WINDOW) * centre, (1.0 + WINDOW) * centre
    return max(0.0, 1.0 - size / lower, size / upper - 1.0)


def pair_table(rows: pd.DataFrame, noise: Mapping[str, float]) -> pd.DataFrame:
    """Every pair of settings that one window holds and whose measured epochs differ by more than the noise.

    Returns
    -------
    DataFrame
        One row a pair: ``machine, cnn, first, second`` (settings, the measured faster one first), ``difference`` of the measured
        epochs over their mean, ``close``, and for each of `CHOOSERS` the difference that it says (negative or 0: reversed).
    """
    found = []
    for each in competitions(rows):
        together = {pair for _, held in each.windows() for pair in combinations(np.flatnonzero(held).tolist(), 2)}
        for pair in sorted(together):
            first, second = sorted(pair, key=lambda place: float(each.epoch_s[place]))
            difference = relative_difference(each.epoch_s, first, second)
            if difference > noise[EPOCH]:
                row: dict[str, Any] = {
                    "machine": each.machine,
                    "cnn": each.cnn,
                    "first": each.settings[first],
                    "second": each.settings[second],
                    "difference": difference,
                    "close": difference < CLOSE,
                }
                found.append(row | {name: relative_difference(each.said_epoch_s[name], first, second) for name in CHOOSERS})
    return pd.DataFrame(found, columns=["machine", "cnn", "first", "second", "difference", "close", *CHOOSERS])


def relative_difference(times: FloatArray, first: int, second: int) -> float:
    """What the second takes longer than the first, over their mean.

    Parameters
    ----------
    times : array, shape (n_settings,)
        In any one unit, > 0.
    first, second : int
        Positions.

    Returns
    -------
    float
        A fraction; negative where the second is faster.
    """
    return float(2.0 * (times[second] - times[first]) / (times[second] + times[first]))
