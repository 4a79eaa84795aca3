"""What is known at t of a stream: performance and where it comes from, every counter and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.datasets.streams.performance import Performance
from mlperf.features.network.base import FeatureColumn
from mlperf.features.streams.running import MovingAverages, Rates, RunningScaler

QUICK, SLOW = 0.2, 0.05
"""Weights of the newest sample in the two moving averages."""
PERFORMANCE_TERMS = ("performance_from_quick_mean", "performance_change", "performance_from_slow_mean")


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """What one sample adds to what is known.

    Attributes
    ----------
    t_s : float
        Time of the sample, seconds.
    performance : float
        Rate since the sample before, in the performance's unit, not below its least.
    level : float
        Its natural logarithm.
    terms : array, shape (n_terms,)
        `PERFORMANCE_TERMS` first, then one term a counter: its scaled logarithm minus the quick moving average of that.
    scaled : array, shape (n_counters,)
        Logarithms of the counters' rates, in running standard deviations from their running mean.
    """

    t_s: float
    performance: float
    level: float
    terms: FloatArray
    scaled: FloatArray


class Windows:
    """Pushes samples through running rates, scales and means.

    There is no way to hand over more than the present sample, so that nothing that is returned can depend on a later one.

    Parameters
    ----------
    columns : sequence of str
        Of every sample, in order.
    performance : Performance
        Whose rate is forecast.
    interval_s : float
        Time between samples that was asked for: with the least counts of a sample it bounds the rate from below.
    already_rates : bool
        Whether counters come as rates.

    Raises
    ------
    DataError
        There is no column for the performance.
    """

    def __init__(self, columns: Sequence[str], performance: Performance, interval_s: float, *, already_rates: bool = False) -> None:
        if performance.column not in columns:
            raise DataError(f"no column {performance.column!r} for the performance, got {', '.join(columns)}", place="stream")
        self.performance = performance
        self.rates = Rates(columns, already=already_rates)
        self._target = list(columns).index(performance.column)
        self._others = np.array([index for index in range(len(columns)) if index != self._target], dtype=np.intp)
        self.counters = tuple(columns[index] for index in self._others)
        self._least = performance.least_a_sample * performance.scale / interval_s
        self._scaler = RunningScaler(len(self.counters))
        self._scaled_mean = MovingAverages(QUICK)
        self._quick = self._slow = self._last = math.nan

    @property
    def n_terms(self) -> int:
        """Terms of a window."""
        return len(PERFORMANCE_TERMS) + len(self.counters)

    def push(self, t_s: float, values: FloatArray) -> Window | None:
        """Take in a sample, shape (n_columns,), as recorded; None for the first one of counters, which has no rate yet."""
        rates = self.rates.push(t_s, values)
        if rates is None:
            return None
        performance = max(float(rates[self._target]) * self.performance.scale, self._least)
        level = math.log(performance)
        terms = np.empty(self.n_terms)
        terms[: len(PERFORMANCE_TERMS)] = self._performance_terms(level)
        scaled = self._scaler.push(np.log1p(np.maximum(rates[self._others], 0.0)))
        terms[len(PERFORMANCE_TERMS) :] = scaled - self._scaled_mean.push(scaled)
        return Window(t_s, performance, level, terms, scaled)

    def _performance_terms(self, level: float) -> tuple[float, float, float]:
        if math.isnan(self._last):
            self._quick = self._slow = self._last = level
        self._quick += QUICK * (level - self._quick)
        self._slow += SLOW * (level - self._slow)
        change, self._last = level - self._last, level
        return level - self._quick, change, level - self._slow


def window_columns(performance: Performance, counters: Sequence[str]) -> tuple[FeatureColumn, ...]:
    """Unit, source and meaning of what a window holds, as the columns of a feature table."""
    rate = f"rate of {performance.column}"
    return (
        FeatureColumn("t_s", "s", "t_s", "time of the sample"),
        FeatureColumn("performance_now", performance.unit, rate, performance.doc),
        FeatureColumn("performance_log", "1", rate, "natural logarithm of performance_now"),
        FeatureColumn(PERFORMANCE_TERMS[0], "1", rate, f"its logarithm minus its moving average of weight {QUICK}"),
        FeatureColumn(PERFORMANCE_TERMS[1], "1", rate, "change of its logarithm since the sample before"),
        FeatureColumn(PERFORMANCE_TERMS[2], "1", rate, f"its logarithm minus its moving average of weight {SLOW}"),
        *(
            FeatureColumn(f"{name}_scaled", "1", name, "logarithm of its rate, in running deviations from its running mean")
            for name in counters
        ),
        *(
            FeatureColumn(f"{name}_from_mean", "1", name, f"its scaled logarithm minus the moving average of weight {QUICK}")
            for name in counters
        ),
    )
