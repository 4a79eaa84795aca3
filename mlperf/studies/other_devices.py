"""Steps on devices that nobody measured: the model of another device, carried over by data sheets, beside open measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.documents import read_toml
from mlperf.datasets.open.step_rows import device_rows
from mlperf.planning.options import N_DRAWS
from mlperf.planning.systems.predict import predict_system
from mlperf.specs.devices import device_sheet
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.zoo.zoo import zoo_names
from mlperf.training.model import Model

SYSTEM, STEP = "data-parallel", "step_s"
SECOND = ("MXNet",)
"""Sources that were asked about once the others had been seen, by the same predictor and held to the same limits."""
UNSCALED, PEAKS = "as measured", "ratio of peaks"
"""Trivial answers: the step of the measured device, and that step times the ratio of both single-precision peaks."""


@dataclass(frozen=True, slots=True, eq=False)
class DevicesJudgement:
    """Predicted beside measured steps.

    Attributes
    ----------
    rows : DataFrame
        ``set`` (``first``, ``second``: see `SECOND`), ``source, device, cnn, subbatch_size, step_s`` (measured), ``predicted``,
        ``lower, upper`` (seconds, 95 % interval), ``error`` (predicted over measured, less 1), ``inside``, and by trivial answer
        its ``error``.
    left_out : tuple of str
        Networks of the sources that are none of the package's.
    """

    rows: pd.DataFrame
    left_out: tuple[str, ...]

    def errors(self) -> pd.DataFrame:
        """Mean absolute error, mean error and coverage by set, by device and of all, and what the trivial answers are off by."""
        every = pd.concat([self.rows, self.rows.assign(device="all")])
        grouped = every.groupby(["set", "device"], sort=False)
        made = {
            "n": grouped.size(),
            "error": grouped["error"].agg(lambda each: each.abs().mean()),
            "bias": grouped["error"].mean(),
            "coverage": grouped["inside"].mean(),
            **{name: grouped[name].agg(lambda each: each.abs().mean()) for name in (UNSCALED, PEAKS)},
        }
        return pd.DataFrame(made).reset_index()


def judge_devices(model: Model, folder: Path | None = None, n_draws: int = N_DRAWS) -> DevicesJudgement:
    """Predict every open step as `mlperf predict --system data-parallel` does for a machine with that device.

    Parameters
    ----------
    model : Model
        Of a device.
    folder : Path, optional
        Of the open data; default what ``MLPERF_SHARED_DATA`` names.
    n_draws : int
        Of the intervals.

    Raises
    ------
    DataError
        The open data are not there, or a device has no data sheet.
    """
    measured = device_rows(folder)
    names = measured["cnn"].str.lower().str.replace(r"[- ]", "", regex=True)
    known = names.isin(zoo_names())
    rows = measured[known].assign(cnn=names[known]).reset_index(drop=True)
    own = {(cnn, size): asked_step(model, cnn, size, None, 2)[0] for cnn, size in asked_keys(rows)}
    there = {(cnn, size, device): asked_step(model, cnn, size, device, n_draws) for cnn, size, device in asked_keys(rows, "device")}
    found = [there[key] for key in asked_keys(rows, "device")]
    predicted, lower, upper = (np.array(each, float) for each in zip(*found, strict=True))
    step_s = rows[STEP].to_numpy(float)
    unscaled = np.array([own[key] for key in asked_keys(rows)])
    rows = rows.assign(
        set=np.where(rows["source"].isin(SECOND), "second", "first"),
        predicted=predicted,
        lower=lower,
        upper=upper,
        error=predicted / step_s - 1.0,
        inside=(lower <= step_s) & (step_s <= upper),
        **{UNSCALED: unscaled / step_s - 1.0, PEAKS: unscaled * _peak_ratios(model, rows["device"]) / step_s - 1.0},
    )
    return DevicesJudgement(rows, tuple(sorted(set(measured["cnn"][~known]))))


def asked_step(model: Model, cnn: str, subbatch_size: int, device: str | None, n_draws: int) -> tuple[float, float, float]:
    """Seconds of a step on one device (None: the measured one) and the ends of the 95 % interval of a run."""
    machine = MachineSpec(device or "the measured one", 1, 1, processor=device)
    job = JobSpec(dataset_size=subbatch_size, subbatch_size=subbatch_size, n_nodes=1)
    found = predict_system(model, SYSTEM, cnn, machine, job, n_draws=n_draws)
    interval = found.prediction_interval[STEP]
    return float(found.outputs[STEP][0]), float(interval.lower[0]), float(interval.upper[0])


def read_device_limits(path: Path) -> Mapping[str, float]:
    """The limits that were set before any step was predicted: ``error``, ``coverage``."""
    return {str(name): float(value) for name, value in read_toml(path)["limits"].items()}


def asked_keys(rows: pd.DataFrame, *more: str) -> list[tuple[Any, ...]]:
    """Network, sub-batch and what else is asked of each row."""
    return list(rows[["cnn", "subbatch_size", *more]].itertuples(index=False, name=None))


def _peak_ratios(model: Model, devices: pd.Series[str]) -> FloatArray:
    """Peak of the measured device over those of others."""
    known = None if model.measured_on is None else device_sheet(model.measured_on.processor)
    sheets = [device_sheet(name) for name in devices]
    return np.array([np.nan if known is None or each is None else known.flop_per_s / each.flop_per_s for each in sheets])
