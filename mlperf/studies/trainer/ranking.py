"""Which configuration is fastest inside a window of mini-batch sizes: predicted order against the measured one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets.campaigns.trainer_runs import CONFIG
from mlperf.studies.trainer.predictions import EPOCH, MODEL, STEP_ALONE

WINDOW = 0.25
"""Half-width of a window around the mini-batch size at its centre, as in the paper (138 +- 25 %)."""

GROUP = ["protocol", "machine", "trained_on", "cnn"]


def rank_windows(rows: pd.DataFrame, noise: pd.DataFrame) -> pd.DataFrame:
    """Order and regret inside every window.

    Parameters
    ----------
    rows : DataFrame
        Of `mlperf.studies.trainer.predictions.split_rows`.
    noise : DataFrame
        ``machine, cnn, noise``: relative difference of two epoch times up to which nobody can tell.

    Returns
    -------
    DataFrame
        One row a distinct window of at least two configurations: `GROUP`, ``lower, upper`` (predicted samples per update),
        ``n_configs``, ``n_pairs`` apart beyond the noise, ``n_reversed`` of them, ``regret`` (measured time of the predicted
        best over that of the measured best, less 1), and the last two of the gradient alone: ``n_reversed_alone, regret_alone``.
    """
    wide = rows.pivot_table(index=[*GROUP, *CONFIG[1:]], columns=["method", "quantity"], values=["predicted", "measured"])
    doubt = noise.set_index(["machine", "cnn"])["noise"]
    found = []
    for key, part in wide.groupby(level=GROUP, sort=False):
        size, said, alone = (
            part["predicted"][MODEL, "mean_minibatch_size"],
            part["predicted"][MODEL, EPOCH],
            part["predicted"][STEP_ALONE, EPOCH],
        )
        measured = part["measured"][MODEL, EPOCH].to_numpy(float)
        threshold = float(np.nan_to_num(doubt.get((key[1], key[3]), 0.0)))
        for lower, upper, inside in windows(size.to_numpy(float)):
            times = measured[inside]
            wrong, n_pairs = reversed_pairs(times, said.to_numpy(float)[inside], threshold)
            wrong_alone, _ = reversed_pairs(times, alone.to_numpy(float)[inside], threshold)
            found.append(
                {
                    **dict(zip(GROUP, key, strict=True)),
                    "lower": lower,
                    "upper": upper,
                    "n_configs": int(inside.sum()),
                    "n_pairs": n_pairs,
                    "n_reversed": wrong,
                    "regret": regret(times, said.to_numpy(float)[inside]),
                    "n_reversed_alone": wrong_alone,
                    "regret_alone": regret(times, alone.to_numpy(float)[inside]),
                }
            )
    return pd.DataFrame(found)


def windows(sizes: FloatArray) -> Iterator[tuple[float, float, FloatArray]]:
    """Windows around every size in turn that hold two configurations or more, each set of configurations once.

    Yields
    ------
    lower, upper, inside
        Bounds and the mask of the configurations between them, shape of ``sizes``.
    """
    known = set()
    for centre in np.sort(sizes):
        lower, upper = (1.0 - WINDOW) * centre, (1.0 + WINDOW) * centre
        inside = (sizes >= lower) & (sizes <= upper)
        if inside.sum() > 1 and inside.tobytes() not in known:
            known.add(inside.tobytes())
            yield float(lower), float(upper), inside


def reversed_pairs(measured: FloatArray, predicted: FloatArray, noise: float) -> tuple[int, int]:
    """How many pairs that are apart are told in the wrong order.

    Parameters
    ----------
    measured, predicted : array, shape (n_configs,)
        Times in one unit, > 0.
    noise : float
        Relative difference up to which nobody can tell.

    Returns
    -------
    tuple of (int, int)
        Pairs whose measured difference is beyond the noise and whose predicted one is 0 or has the other sign; all beyond it.
    """
    first, second = np.triu_indices(len(measured), 1)
    apart = measured[second] / measured[first] - 1.0
    beyond = np.abs(apart) > noise
    return int((beyond & (apart * (predicted[second] - predicted[first]) <= 0.0)).sum()), int(beyond.sum())


def regret(measured: FloatArray, predicted: FloatArray) -> float:
    """Measured time of what was predicted fastest over the least measured time, less 1.

    Parameters
    ----------
    measured, predicted : array, shape (n_configs,)
        Times in one unit, > 0.

    Returns
    -------
    float
        A fraction, 0 where the fastest was chosen.
    """
    return float(measured[int(np.argmin(predicted))] / measured.min() - 1.0)
