"""A reading of one clock between two of another bounds how far they are apart."""

from __future__ import annotations

import time

from mlperf.traces.whole_run.clock_readings import ClockReading, read_clocks


def test_the_offset_is_the_middle_and_half_of_the_rest_is_not_known() -> None:
    reading = ClockReading(100, 1_000_110, 120)
    assert reading.offset_ns == 1_000_000
    assert reading.uncertainty_ns == 10


def test_bounds_hold_the_true_offset() -> None:
    reading = read_clocks()
    other = read_clocks()
    assert abs(reading.offset_ns - other.offset_ns) <= reading.uncertainty_ns + other.uncertainty_ns + 1_000_000
    assert reading.before_ns <= reading.after_ns <= time.monotonic_ns()
