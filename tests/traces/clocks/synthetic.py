"""Runs on clocks that nobody set: true times, what each clock showed, and messages and barriers between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.clocks.constraints import COLLECTIVE, Constraints, bracketed, constraints, joined

SPAN_NS = 2_000_000_000


@dataclass(frozen=True)
class Run:
    """A clock shows ``(t - offset) / (1 + drift)``, rounded, at the true time t; clock 0 is right."""

    offset_ns: IntArray
    drift: FloatArray
    found: Constraints

    def shown(self, clock: IntArray, time_ns: IntArray) -> IntArray:
        return shown(self.offset_ns, self.drift, clock, time_ns)

    def true_offset(self, clock: int, reading_ns: int) -> float:
        """What is to be added to a clock's reading."""
        return float(self.offset_ns[clock]) + self.drift[clock] * float(reading_ns)

    @property
    def span_ns(self) -> IntArray:
        clocks = np.arange(len(self.offset_ns))
        return np.stack([self.shown(clocks, np.full(len(clocks), at)) for at in (0, SPAN_NS)], axis=1)


def shown(offset_ns: IntArray, drift: FloatArray, clock: IntArray, time_ns: IntArray) -> IntArray:
    """Readings of clocks at true times."""
    return np.rint((time_ns - offset_ns[clock]) / (1.0 + drift[clock])).astype(np.int64)


def make_run(rng: np.random.Generator, *, drifts: bool, n_clocks: int | None = None, one_way: bool = False) -> Run:
    """Messages with random latencies, a few barriers and bracketed readings; ``one_way``: only from lower to higher clocks."""
    n_clocks = n_clocks or int(rng.integers(2, 6))
    offset = rng.integers(-50_000_000, 50_000_000, n_clocks)
    drift = rng.uniform(-1.9e-4, 1.9e-4, n_clocks) * drifts
    offset[0], drift[0] = 0, 0.0
    n_messages = int(rng.integers(1, 12)) * n_clocks
    source, target = rng.integers(0, n_clocks, (2, n_messages))
    if one_way:
        source, target = np.minimum(source, target), np.maximum(source, target)
    sent = rng.integers(0, SPAN_NS, n_messages)
    taken = 1_000 + rng.exponential(20_000, n_messages).astype(np.int64)

    def at(clock: IntArray, time: IntArray) -> IntArray:
        return shown(offset, drift, clock, time)

    # A reading is off by half a nanosecond at each end, and a clock may run slow by two ten-thousandths.
    parts = [constraints(source, at(source, sent), target, at(target, sent + taken), 990)]
    if not one_way:
        come = rng.integers(0, SPAN_NS, (3, 1)) + rng.integers(0, 100_000, (3, n_clocks))
        leave = come.max(axis=1, keepdims=True) + rng.integers(100, 5_000, come.shape)
        for round_ in range(3):
            one, other = (each.ravel() for each in np.indices((n_clocks, n_clocks)))
            parts.append(constraints(one, at(one, come[round_][one]), other, at(other, leave[round_][other]), kind=COLLECTIVE))
        other = rng.integers(0, n_clocks, 2)
        read = rng.integers(10_000, SPAN_NS, 2)
        zero = np.zeros(2, dtype=np.int64)
        parts.append(bracketed(zero, at(zero, read - 200), other, at(other, read), at(zero, read + 300)))
    return Run(offset, drift, joined(parts))
