"""Rows of runs.csv and exchange.csv from what all processes have timed."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlperf.collect.synchronous.steps import LAPS
from mlperf.core.arrays import FloatArray
from mlperf.datasets.dictionary.synchronous_schema import PARTS


def parts_of_steps(laps_s: FloatArray) -> dict[str, FloatArray]:
    """Seconds of each part in each step, their sum the mean step of the processes.

    Parameters
    ----------
    laps_s : array, shape (n_processes, n_steps, 6)
        In the order of `LAPS`.

    Returns
    -------
    dict of str to array, shape (n_steps,)
        Of `PARTS`: means over the processes; of ``exchange`` the least, which the process that arrived last has, and what the
        others had to wait more is ``straggler``.
    """
    laps = {name: laps_s[:, :, place] for place, name in enumerate(LAPS)}
    mean = {name: values.mean(axis=0) for name, values in laps.items()}
    last = laps["exchange"].min(axis=0)
    return {
        "input": mean["input"],
        "forward": mean["forward"],
        "backward": mean["backward"],
        "exchange": last,
        "straggler": mean["exchange"] - last,
        "optimizer": mean["pack"] + mean["update"],
    }


def run_row(laps_s: FloatArray) -> dict[str, Any]:
    """Means and spreads of one run over its steps; the parts of a single process have neither exchange nor straggler."""
    parts = parts_of_steps(laps_s)
    if len(laps_s) == 1:
        # What two readings of the clock take is no exchange.
        parts["optimizer"] = parts["optimizer"] + parts["exchange"]
        parts["exchange"] = np.zeros_like(parts["exchange"])
    step_s = np.sum([parts[name] for name in PARTS], axis=0)
    row: dict[str, Any] = {"n_steps": len(step_s), "step_s": float(step_s.mean()), "step_std_s": spread(step_s)}
    row |= {f"{name}_s": max(float(parts[name].mean()), 0.0) for name in PARTS}
    return row | {f"{name}_std_s": spread(parts[name]) for name in PARTS}


def exchange_row(times_s: FloatArray) -> dict[str, Any]:
    """One isolated exchange: the process that arrived last, over the repetitions; ``times_s`` (n_processes, n_exchanges)."""
    last = times_s.min(axis=0)
    return {"n_exchanges": len(last), "exchange_s": float(np.median(last)), "exchange_std_s": spread(last)}


def spread(values: FloatArray) -> float:
    """Standard deviation; 0 of a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
