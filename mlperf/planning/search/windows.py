"""What a search may ask of a configuration: a window of the mini-batch size's mean or quantile, or of the mean staleness."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import UsageError
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State
from mlperf.systems.sprint.minibatch import minibatch_distribution, minibatch_std
from mlperf.systems.sprint.outputs import mean_minibatch_size
from mlperf.systems.sprint.staleness import mean_staleness

MEAN, QUANTILE, STALENESS = "mean_minibatch_size", "minibatch_quantile", "mean_staleness"
CHUNK = 4096
OfRows = Callable[[ComponentTimes, State, RunGrid], FloatArray]


@dataclass(frozen=True, slots=True)
class Window:
    """Bounds of one quantity of a configuration, both ends included.

    Attributes
    ----------
    quantity : str
        ``mean_minibatch_size`` (samples), ``minibatch_quantile`` (samples) or ``mean_staleness`` (updates).
    low, high : float
        0 <= low <= high.
    level : float
        Of the quantile.

    Raises
    ------
    UsageError
        Unknown quantity, an empty window, or a level outside (0, 1).
    """

    quantity: str
    low: float
    high: float
    level: float = 0.5

    def __post_init__(self) -> None:
        if self.quantity not in GRID_VALUES:
            raise UsageError(f"got window of {self.quantity!r}, expected one of {', '.join(GRID_VALUES)}")
        if not 0.0 <= self.low <= self.high:
            raise UsageError(f"got window {self.low}:{self.high} of {self.quantity}, expected 0 <= low <= high")
        if not 0.0 < self.level < 1.0:
            raise UsageError(f"got quantile level {self.level}, expected a fraction between 0 and 1")

    @property
    def column(self) -> str:
        """Column of its values in a search's tables: ``minibatch_q90`` of a quantile."""
        return f"minibatch_q{100 * self.level:g}" if self.quantity == QUANTILE else self.quantity

    @property
    def is_open(self) -> bool:
        """Whether nothing lies outside."""
        return self.low == 0.0 and math.isinf(self.high)

    def holds(self, values: FloatArray) -> BoolArray:
        """Whether values lie inside."""
        return np.asarray((values >= self.low) & (values <= self.high))

    def log_miss(self, values: FloatArray) -> FloatArray:
        """Logarithm of the ratio that is missing to the nearer end; negative inside."""
        tiny = np.finfo(float).tiny
        known = np.maximum(values, tiny)
        return np.asarray(np.log(np.maximum(max(self.low, tiny) / known, known / max(self.high, tiny))))

    def near_edge(self, values: FloatArray, share: float) -> BoolArray:
        """Whether values lie within this share of a finite end."""
        near = np.zeros(values.shape, dtype=bool)
        for edge in filter(math.isfinite, (self.low, self.high)):
            near |= np.abs(values - edge) <= share * edge
        return near

    def grid_values(self, times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
        """The quantity of many configurations, of the state's shape; the quantile of a normal mini-batch size."""
        return GRID_VALUES[self.quantity](self, times, state, run)

    def exact_values(self, times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
        """The quantity of a few configurations, shape (n_configs,); the quantile of its distribution."""
        if self.quantity != QUANTILE:
            return self.grid_values(times, state, run)
        rows = range(state.gpu_iteration_s.size)
        of_row = (minibatch_distribution(times.take([row]), state.take(np.array([row])), run.take([row])) for row in rows)
        return np.array([distribution.quantile(self.level) for distribution in of_row])


def by_chunk(value: OfRows, times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
    """A quantity of many configurations, worked out in chunks that fit a cache, of similar T_Update / T_GPU."""
    if state.gpu_iteration_s.ndim != 1 or state.gpu_iteration_s.size <= CHUNK:
        return value(times, state, run)
    found = np.empty(state.gpu_iteration_s.size)
    order = np.argsort(state.ratio, kind="stable")
    for start in range(0, order.size, CHUNK):
        rows = order[start : start + CHUNK]
        found[rows] = value(times.take(rows), state.take(rows), run.take(rows))
    return found


def _mean(_: Window, __: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
    return mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)


def _normal_quantile(window: Window, times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
    size = mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)
    return np.asarray(np.maximum(size + ndtri(window.level) * by_chunk(minibatch_std, times, state, run), 0.0))


def _staleness(_: Window, times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
    return by_chunk(mean_staleness, times, state, run)


GRID_VALUES: dict[str, Callable[[Window, ComponentTimes, State, RunGrid], FloatArray]] = {
    MEAN: _mean,
    QUANTILE: _normal_quantile,
    STALENESS: _staleness,
}
