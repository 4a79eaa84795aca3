"""What a search minimises: time, cost or energy of an epoch, or the time until a target accuracy."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.search.search_grid import Epochs, Objective
from mlperf.specs.machine import MachineSpec
from mlperf.training.quality import QualityModel

OBJECTIVES = ("epoch_s", "cost", "energy_j", "time_to_target")
TARGET_COLUMN = "time_to_target_s"
FIGURES = {"cost": "price_per_node_hour", "energy_j": "power_w"}


def objective_column(name: str) -> str:
    """Column of a search's tables that holds an objective."""
    return TARGET_COLUMN if name == "time_to_target" else name


def objective_of(name: str, machine: MachineSpec) -> Objective | None:
    """The objective as a function of seconds and run; None for time itself.

    Raises
    ------
    UsageError
        Unknown name.
    DataError
        The machine lacks the figure that it needs.
    """
    if not isinstance(name, str) or name not in OBJECTIVES:
        raise UsageError(f"got objective {name!r}, expected one of {', '.join(OBJECTIVES)}")
    needed = FIGURES.get(name)
    if needed is None:
        return None
    if getattr(machine, needed) is None:
        raise DataError(f"got no {needed}, which the objective {name!r} needs", place=f"machine {machine.name!r}")
    return lambda seconds, run: priced(seconds, run.n_nodes, machine)[name]


def epochs_of(name: str, quality: QualityModel | None) -> Epochs | None:
    """Epochs by mean mini-batch and staleness where the objective is the time to a target, else None.

    Raises
    ------
    UsageError
        Time to a target without a model of the epochs.
    """
    if name != "time_to_target":
        return None
    if quality is None:
        hint = "Give a model of epochs to a target: --quality quality.json, made by mlperf train from an asynchronous campaign."
        raise UsageError("got the objective 'time_to_target' without a model of the epochs it takes", hint=hint)
    epochs: Epochs = quality.epochs
    return epochs


def priced(seconds: FloatArray, n_nodes: IntArray, machine: MachineSpec) -> dict[str, FloatArray]:
    """Cost (the machine's currency) and energy (joules) of so many seconds; NaN where the machine's figure is unknown."""
    node_s = seconds * n_nodes
    price, power = machine.price_per_node_hour, machine.power_w
    return {
        "cost": node_s / 3600.0 * (np.nan if price is None else price),
        "energy_j": node_s * (np.nan if power is None else power),
    }


def target_columns(rows: pd.DataFrame, quality: QualityModel, epoch_interval: Interval) -> pd.DataFrame:
    """Epochs and time to the target of a few rows, with intervals.

    Parameters
    ----------
    rows : DataFrame
        ``epoch_s, mean_minibatch_size, mean_staleness, subbatch_size``.
    quality : QualityModel
        Epochs to the target.
    epoch_interval : Interval
        Of T_Epoch, seconds, shape (n_rows,).

    Returns
    -------
    DataFrame
        ``epochs, epochs_low, epochs_high`` (one run's epochs), ``time_to_target_s, time_to_target_low_s, time_to_target_high_s``
        (of epochs and T_Epoch together, independent on the scale of logarithms) and ``quality_in_domain``.
    """
    minibatch, staleness, subbatch = (
        rows[name].to_numpy(float) for name in ("mean_minibatch_size", "mean_staleness", "subbatch_size")
    )
    found = quality.predict(minibatch, staleness, subbatch, level=epoch_interval.level)
    epoch_s = rows["epoch_s"].to_numpy(float)
    seconds = found.epochs * epoch_s
    below = np.hypot(np.log(found.epochs / found.lower), np.log(epoch_s / epoch_interval.lower))
    above = np.hypot(np.log(found.upper / found.epochs), np.log(epoch_interval.upper / epoch_s))
    return pd.DataFrame(
        {
            "epochs": found.epochs,
            "epochs_low": found.lower,
            "epochs_high": found.upper,
            TARGET_COLUMN: seconds,
            "time_to_target_low_s": seconds * np.exp(-below),
            "time_to_target_high_s": seconds * np.exp(above),
            "quality_in_domain": found.in_domain,
        },
        index=rows.index,
    )
