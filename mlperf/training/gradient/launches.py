"""A step on a device: a queue of kernels that the host fills by launching one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.json_fields import Fields

DEVICE = "cuda"
"""How the names of backends begin that run on a device: its kernels wait for the host to launch them."""

WAITED = 1.5
"""From so many times the device's busy time on, a step tells what launching costs: little of it is the device's own."""
LEAST_STEPS = 4
ITERATIONS = 6


@dataclass(frozen=True, slots=True)
class Launches:
    """What a device and the host that feeds it add to the times of single calls.

    Attributes
    ----------
    call_s : float
        What timing a call by itself adds to its time, seconds.
    start_s, launch_s : float
        Host seconds of a step before its first launch, and of each launch; both 0 where busy times are not known.

    Notes
    -----
    The calls of a step run in order, each once the one before has ended and the host has launched it (Lindley's recursion of a
    queue), so a step takes the largest over its calls i of: time until i is launched + device time of i and of all that follow.
    That is the sum of device times where the device is the slower one, and the host's time where it is.
    """

    call_s: float
    start_s: float = 0.0
    launch_s: float = 0.0

    def busy_times(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
        """Seconds for which the device is busy in each ``run``, shape (n_runs,)."""
        return _Queue.of(calls).sums(self.device_times(call_times))

    def step_times(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
        """Seconds from the start of each ``run`` to its last result, shape (n_runs,).

        Parameters
        ----------
        calls : DataFrame, shape (n_calls, ...)
            ``run``, each run's calls in execution order.
        call_times : array, shape (n_calls,)
            Seconds of each call as timed by itself.
        """
        return _Queue.of(calls).ends(self.device_times(call_times), self.start_s, self.launch_s)

    def device_times(self, call_times: FloatArray) -> FloatArray:
        """Seconds of the device alone, shape (n_calls,)."""
        return np.maximum(call_times - self.call_s, 0.0)

    def to_dict(self) -> dict[str, float]:
        """JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, value: Any, path: str = "$.launches") -> Launches:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            return cls(*(fields.number(name, lower=0.0) for name in cls.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class _Queue:
    """Calls in the order of their runs: where each run begins, how many launches each call waits for."""

    order: IntArray
    first: IntArray
    counts: IntArray
    runs: IntArray
    launches: IntArray
    n_runs: int

    @classmethod
    def of(cls, calls: pd.DataFrame) -> _Queue:
        run = calls["run"].to_numpy(int)
        order = np.argsort(run, kind="stable")
        runs, first, counts = np.unique(run[order], return_index=True, return_counts=True)
        launches = np.arange(len(run)) - np.repeat(first, counts) + 1
        return cls(order, first, counts, runs, launches, int(runs[-1]) + 1)

    def sums(self, device_s: FloatArray) -> FloatArray:
        return self._spread(np.add.reduceat(device_s[self.order], self.first))

    def ends(self, device_s: FloatArray, start_s: float, launch_s: float) -> FloatArray:
        own = device_s[self.order]
        earlier = np.cumsum(own) - own
        rest = np.repeat(np.add.reduceat(own, self.first) + earlier[self.first], self.counts) - earlier
        return self._spread(np.maximum.reduceat(start_s + launch_s * self.launches + rest, self.first))

    def n_calls(self) -> FloatArray:
        return self._spread(self.counts.astype(float))

    def _spread(self, by_run: FloatArray) -> FloatArray:
        found = np.zeros(self.n_runs)
        found[self.runs] = by_run
        return found


def fit_launches(calls: pd.DataFrame, steps: pd.DataFrame, *, keys: list[str]) -> Launches:
    """Learn the three costs from measured calls and the steps that they belong to, by least relative error.

    Parameters
    ----------
    calls : DataFrame
        ``time_s`` of each call and the columns of ``keys``, the calls of a step in execution order.
    steps : DataFrame
        One row a step, with ``keys``, ``step_s``, and ``busy_s``: seconds, NaN where only the time in the stream was measured.
        Then timing a call costs what the calls exceed the stream by, and launching is in the calls' own times.
    keys : list of str
        What identifies a step.

    Returns
    -------
    Launches
        Launching is told by steps of at least 1.5 times the device's busy time; with fewer than four of them it costs nothing.
    """
    numbered = steps.reset_index(drop=True)
    run = numbered[keys].assign(run=np.arange(len(numbered)))
    known = calls.merge(run, on=keys, how="inner")
    queue, times = _Queue.of(known), known["time_s"].to_numpy(float)
    busy_s, step_s = (numbered[name].to_numpy(float) for name in ("busy_s", "step_s"))
    told = np.isfinite(busy_s)
    own = np.where(told, busy_s, step_s)
    n_calls = queue.n_calls()
    call_s = max(_least_relative(n_calls[:, None], queue.sums(times) - own, own)[0], 0.0)
    waited = told & (step_s >= WAITED * own)
    if np.count_nonzero(waited) < LEAST_STEPS:
        return Launches(call_s)
    device_s = np.maximum(times - call_s, 0.0)
    start_s, launch_s = 0.0, 0.0
    design = np.column_stack([np.ones(len(n_calls)), n_calls])[waited]
    for _ in range(ITERATIONS):
        # What the device does after the last launch is not the host's.
        after = queue.ends(device_s, start_s, launch_s) - (start_s + launch_s * n_calls)
        host_s = np.maximum(step_s - (after if launch_s else 0.0), 0.0)
        start_s, launch_s = _least_relative(design, host_s[waited], step_s[waited])
    return Launches(call_s, start_s, launch_s)


def _least_relative(design: FloatArray, values: FloatArray, scale: FloatArray) -> list[float]:
    """Coefficients of least squared error relative to ``scale``; none of several is below zero."""
    from scipy.optimize import nnls

    rows, target = design / scale[:, None], values / scale
    if design.shape[1] == 1:
        return [float(rows[:, 0] @ target / (rows[:, 0] @ rows[:, 0]))]
    return [float(value) for value in nnls(rows, target)[0]]
