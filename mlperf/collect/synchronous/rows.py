"""Rows of runs.csv and exchange.csv from what all processes have timed."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlperf.collect.synchronous.steps import AFTER, BEFORE, MARKS
from mlperf.core.arrays import FloatArray
from mlperf.datasets.dictionary.synchronous_schema import PARTS


def parts_of_steps(marks_s: FloatArray) -> dict[str, FloatArray]:
    """Seconds of each part in each step, their sum the mean step of the processes.

    Parameters
    ----------
    marks_s : array, shape (n_processes, n_steps, 7)
        In the order of `MARKS`, of one clock for all processes.

    Returns
    -------
    dict of str to array, shape (n_steps,)
        Of `PARTS`: means over the processes; ``exchange`` from the arrival of the last process, ``straggler`` the wait until then.
    """
    laps = dict(zip(MARKS[1:], np.diff(marks_s, axis=2).mean(axis=0).T, strict=True))
    last = marks_s[:, :, BEFORE].max(axis=0)
    return {
        "input": laps["input"],
        "forward": laps["forward"],
        "backward": laps["backward"],
        "exchange": marks_s[:, :, AFTER].mean(axis=0) - last,
        "straggler": last - marks_s[:, :, BEFORE].mean(axis=0),
        "optimizer": laps["pack"] + laps["update"],
    }


def run_row(marks_s: FloatArray) -> dict[str, Any]:
    """Means and spreads of one run over its steps; a single process has neither exchange nor straggler."""
    parts = parts_of_steps(marks_s)
    if len(marks_s) == 1:
        # What two readings of the clock take is no exchange.
        parts["optimizer"] = parts["optimizer"] + parts["exchange"]
        parts["exchange"] = np.zeros_like(parts["exchange"])
    step_s = np.sum([parts[name] for name in PARTS], axis=0)
    row: dict[str, Any] = {"n_steps": len(step_s), "step_s": float(step_s.mean()), "step_std_s": pair_spread(own_work(marks_s))}
    row |= {f"{name}_s": max(float(parts[name].mean()), 0.0) for name in PARTS}
    return row | {f"{name}_std_s": spread(parts[name]) for name in PARTS}


def exchange_row(times_s: FloatArray) -> dict[str, Any]:
    """Isolated exchanges, from the last arrival to the mean end; ``times_s`` (n_processes, n_exchanges, 2), begin and end."""
    taken_s = times_s[:, :, 1].mean(axis=0) - times_s[:, :, 0].max(axis=0)
    return {"n_exchanges": len(taken_s), "exchange_s": float(np.median(taken_s)), "exchange_std_s": spread(taken_s)}


def own_work(marks_s: FloatArray) -> FloatArray:
    """Seconds of every process in every step without exchange and wait, shape (n_processes, n_steps)."""
    return np.asarray(marks_s[:, :, BEFORE] - marks_s[:, :, 0] + marks_s[:, :, -1] - marks_s[:, :, AFTER])


def pair_spread(values: FloatArray) -> float:
    """Spread by which the slower of two exceeds the mean: that of a normal distribution is its standard deviation.

    The mean of the larger of two draws exceeds the mean by half their mean difference D / 2, of normal ones by sd / sqrt(pi): this
    is sqrt(pi) D / 2. Rare long steps, which make the standard deviation, slow two processes down by far less than that says.

    Parameters
    ----------
    values : array, shape (n_processes, n_steps)
        All draws; 0 for a single one.
    """
    ordered = np.sort(values, axis=None)
    n = len(ordered)
    if n < 2:
        return 0.0
    # Sum over all pairs of the larger less the smaller.
    total = float((2.0 * np.arange(n) - n + 1.0) @ ordered)
    return float(np.sqrt(np.pi) / 2.0 * total / (n * (n - 1) / 2.0))


def spread(values: FloatArray) -> float:
    """Standard deviation; 0 of a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
