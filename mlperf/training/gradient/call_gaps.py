"""What lies between the calls of a step on a host: library layers timed one by one are not quite the step that they make up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.json_fields import Fields
from mlperf.features.network.kernels import LIBRARY, form_of
from mlperf.specs.kernels.further_kinds import FORWARD as FURTHER
from mlperf.specs.network.layer import CELLS

AUTOGRAD = frozenset((*FURTHER, *CELLS))
"""Names of library layers whose way back only autograd knows: timed by itself, each call carries a start of that engine."""

LEAST_STEPS = 8
"""Fewer steps tell nothing of what lies between calls."""


@dataclass(frozen=True, slots=True)
class CallGaps:
    """Seconds that a step takes for each of its calls beyond what they take by themselves; below 0 where less.

    Attributes
    ----------
    layer_s : float
        For every call: the library finds the code to run, and keeps what the way back needs.
    autograd_s : float
        Further seconds for calls of `AUTOGRAD`: in a step that engine is started once, timed by themselves each starts it anew.
    """

    layer_s: float
    autograd_s: float

    def step_times(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
        """Seconds of each ``run``, shape (n_runs,): its calls with their gaps, none below 0."""
        runs = calls["run"].to_numpy(int)
        gaps = self.layer_s + self.autograd_s * by_autograd(calls["kernel"])
        return np.asarray(np.bincount(runs, np.maximum(call_times + gaps, 0.0), minlength=int(runs.max()) + 1), np.float64)

    def to_dict(self) -> dict[str, float]:
        """JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, value: Any, path: str = "$.gaps") -> CallGaps:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            return cls(*(fields.number(name) for name in cls.__slots__))


def by_autograd(kernels: pd.Series[str]) -> BoolArray:
    """Whether each call is of a layer of `AUTOGRAD`, shape (n_calls,)."""
    return np.asarray(kernels.str.rpartition("_")[0].isin(AUTOGRAD), bool)


def fit_gaps(calls: pd.DataFrame, steps: pd.DataFrame, *, keys: list[str]) -> CallGaps | None:
    """Learn both from measured calls and the steps that they belong to, by least relative error.

    Parameters
    ----------
    calls : DataFrame
        ``kernel, time_s`` of each call, seconds, and the columns of ``keys``.
    steps : DataFrame
        One row a step, with ``keys`` and ``step_s``, seconds.
    keys : list of str
        What identifies a step.

    Returns
    -------
    CallGaps or None
        None of explicit kernels, whose step is the sum of its calls (SPRINT, eq. 4), and of fewer than eight steps.
    """
    if form_of(calls["kernel"]) is not LIBRARY:
        return None
    counted = calls[keys].assign(time_s=calls["time_s"], n_calls=1.0, n_autograd=by_autograd(calls["kernel"]).astype(float))
    whole = steps.set_index(keys)["step_s"].rename("step_s").to_frame().join(counted.groupby(keys).sum(), how="inner")
    if len(whole) < LEAST_STEPS:
        return None
    step_s = whole["step_s"].to_numpy(float)
    design = whole[["n_calls", "n_autograd"]].to_numpy(float) / step_s[:, None]
    found = np.linalg.lstsq(design, 1.0 - whole["time_s"].to_numpy(float) / step_s, rcond=None)[0]
    return CallGaps(*(float(value) for value in found))
