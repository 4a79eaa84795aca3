"""A step on a device: a queue of kernels that the host fills by launching one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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

LITTLE, MOST = 0.05, 0.5
"""Share of a step that is the host's: up to where the device alone tells how it varies, from where on the host."""
SPREADS = ("host_spread", "device_spread")


@dataclass(frozen=True, slots=True)
class Launches:
    """What a device and the host that feeds it add to the times of single calls.

    Attributes
    ----------
    call_s : float
        What timing a call by itself adds to its time, seconds.
    start_s, launch_s : float
        Host seconds of a step before its first launch, and of each launch; both 0 where busy times are not known.
    host_spread, device_spread : float
        Relative standard deviation, from one visit to the next, of what the host and of what the device takes of a step; NaN where
        too few steps tell them apart, and in files of earlier releases.

    Notes
    -----
    The calls of a step run in order, each once the one before has ended and the host has launched it (Lindley's recursion of a
    queue), so a step takes the largest over its calls i of: time until i is launched + device time of i and of all that follow.
    That is the sum of device times where the device is the slower one, and the host's time where it is.
    """

    call_s: float
    start_s: float = 0.0
    launch_s: float = 0.0
    host_spread: float = math.nan
    device_spread: float = math.nan

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

    def step_spreads(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
        """Relative standard deviation of each ``run``'s step, shape (n_runs,); parameters as of `step_times`.

        What the host and what the device takes vary by themselves: a step that the device sets the pace of varies as the device
        does, whatever the host takes meanwhile.
        """
        share = self.host_shares(calls, call_times)
        return np.asarray(np.hypot(self.host_spread * share, self.device_spread * (1.0 - share)))

    def host_shares(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
        """Share of each ``run``'s step for which the host sets the pace: until the launch its end waits for; shape (n_runs,)."""
        return _Queue.of(calls).host_shares(self.device_times(call_times), self.start_s, self.launch_s)

    @property
    def tells_spreads(self) -> bool:
        """Whether it is known how steps vary."""
        return math.isfinite(self.host_spread) and math.isfinite(self.device_spread)

    def device_times(self, call_times: FloatArray) -> FloatArray:
        """Seconds of the device alone, shape (n_calls,)."""
        return np.maximum(call_times - self.call_s, 0.0)

    def to_dict(self) -> dict[str, float]:
        """JSON types."""
        return {name: getattr(self, name) for name in self.__slots__ if self.tells_spreads or name not in SPREADS}

    @classmethod
    def from_dict(cls, value: Any, path: str = "$.launches") -> Launches:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            told = [name for name in cls.__slots__ if name not in SPREADS or name in fields.names]
            return cls(**{name: fields.number(name, lower=0.0) for name in told})


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
        return self._spread(np.maximum.reduceat(start_s + launch_s * self.launches + self._rest(device_s), self.first))

    def host_shares(self, device_s: FloatArray, start_s: float, launch_s: float) -> FloatArray:
        launched = start_s + launch_s * self.launches
        ways = launched + self._rest(device_s)
        end = np.maximum.reduceat(ways, self.first)
        # Of ways that are as long the one with the most launches.
        host = np.maximum.reduceat(np.where(ways == np.repeat(end, self.counts), launched, 0.0), self.first)
        return self._spread(np.divide(host, end, out=np.zeros_like(end), where=end > 0.0))

    def _rest(self, device_s: FloatArray) -> FloatArray:
        """Device seconds of each call and of all that follow it in its run, calls in the order of their runs."""
        own = device_s[self.order]
        earlier = np.cumsum(own) - own
        return np.asarray(np.repeat(np.add.reduceat(own, self.first) + earlier[self.first], self.counts) - earlier)

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
        Then timing a call costs what the calls exceed the stream by, and launching is in the calls' own times. ``visit_spread``, if
        there is such a column: how much the step varied.
    keys : list of str
        What identifies a step.

    Returns
    -------
    Launches
        Launching is told by steps of at least 1.5 times the device's busy time; with fewer than four of them it costs nothing. How
        host and device vary is told by steps that one of them sets the pace of, at least four each.
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
    found = Launches(call_s, start_s, launch_s)
    if "visit_spread" not in numbered:
        return found
    shares = found.host_shares(known, times)
    return replace(found, **dict(zip(SPREADS, _spreads(shares, numbered["visit_spread"].to_numpy(float)), strict=True)))


def _spreads(host_share: FloatArray, spread: FloatArray) -> tuple[float, float]:
    """Of the host and of the device, from the relative spread of steps and the host's share of each; NaN where one is not told."""
    known = np.isfinite(spread)
    of_host, of_device = known & (host_share >= MOST), known & (host_share <= LITTLE)
    if min(np.count_nonzero(of_host), np.count_nonzero(of_device)) < LEAST_STEPS:
        return math.nan, math.nan
    return float(np.mean(spread[of_host] / host_share[of_host])), float(np.mean(spread[of_device]))


def _least_relative(design: FloatArray, values: FloatArray, scale: FloatArray) -> list[float]:
    """Coefficients of least squared error relative to ``scale``; none of several is below zero."""
    from scipy.optimize import nnls

    rows, target = design / scale[:, None], values / scale
    if design.shape[1] == 1:
        return [float(rows[:, 0] @ target / (rows[:, 0] @ rows[:, 0]))]
    return [float(value) for value in nnls(rows, target)[0]]
