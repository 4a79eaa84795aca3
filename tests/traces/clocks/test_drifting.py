"""Drifting clocks: what cannot be is found, with its reasons; readings far apart tell the drift."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.clocks.constraints import bracketed, constraints, joined
from mlperf.traces.clocks.drifting import drifting_bounds

SECOND_NS = 1_000_000_000


def moments() -> np.ndarray:
    return np.array([[0, 5 * SECOND_NS, 10 * SECOND_NS]] * 2)


def test_two_readings_give_offset_and_drift() -> None:
    # Clock 1 shows t / (1 + 5e-5) at the true time t, and is read within 100 ns.
    at = np.array([1_000, 10 * SECOND_NS])
    found = bracketed(0, at - 50, 1, np.rint(at / (1 + 5e-5)).astype(int), at + 50)
    told = drifting_bounds(found, 2, 0, moments(), np.zeros(2, dtype=np.int64))
    assert told.drift_low_ppm[1] < 50.0 < told.drift_high_ppm[1]
    # 100 ns in 10 s.
    assert told.drift_high_ppm[1] - told.drift_low_ppm[1] == pytest.approx(0.02, rel=0.01)
    for place, true in enumerate((0.0, 5e-5 * 5 * SECOND_NS, 5e-5 * 10 * SECOND_NS)):
        assert told.low_ns[1, place] <= true <= told.high_ns[1, place]
        assert told.high_ns[1, place] - told.low_ns[1, place] <= 110


def test_the_limit_of_drift_bounds_what_one_reading_leaves_open() -> None:
    found = bracketed(0, [5 * SECOND_NS - 10], 1, [5 * SECOND_NS], [5 * SECOND_NS + 10])
    told = drifting_bounds(found, 2, 0, moments(), np.zeros(2, dtype=np.int64), most_ppm=100.0)
    assert told.high_ns[1] == pytest.approx([500_010, 10, 500_010], abs=3)
    assert told.low_ns[1] == pytest.approx([-500_010, -10, -500_010], abs=3)


def test_more_drift_than_allowed_is_a_contradiction_between_the_ends() -> None:
    early = constraints([0, 1], [0, 0], [1, 0], [100, 100])
    late = constraints([0, 1], [10 * SECOND_NS] * 2, [1, 0], [10 * SECOND_NS + 5_000_000, 10 * SECOND_NS - 4_000_000])
    told = drifting_bounds(joined((early, late)), 2, 0, moments(), np.zeros(2, dtype=np.int64))
    assert 3 in told.cycle
    assert len(told.cycle) >= 2
    assert not len(drifting_bounds(joined((early, late)), 2, 0, moments(), np.zeros(2, dtype=np.int64), 500.0).cycle)
