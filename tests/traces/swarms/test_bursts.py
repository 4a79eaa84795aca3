from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.swarms.bursts import find_bursts, period_ns

MS = 1_000_000


def test_a_pause_longer_than_the_least_and_five_usual_ones_parts() -> None:
    start = np.array([0, 1, 2, 30, 31, 32]) * MS
    assert find_bursts(start, start).start_ns.tolist() == [0, 30 * MS]
    assert find_bursts(start, start, (40 * MS, 2**62)).start_ns.tolist() == [0]


def test_pauses_as_usual_do_not_part() -> None:
    start = np.arange(10) * 100 * MS
    assert find_bursts(start, start).start_ns.tolist() == [0]
    assert find_bursts(start, start, (0, 50 * MS)).start_ns.tolist() == start.tolist()


def test_a_long_event_bridges_what_begins_late() -> None:
    start, end = np.array([0, 1, 200]) * MS, np.array([190, 2, 201]) * MS
    found = find_bursts(start, end)
    assert (found.start_ns.tolist(), found.end_ns.tolist()) == ([0], [201 * MS])


def test_periods_of_regular_bursts_only() -> None:
    rng = np.random.default_rng(0)
    regular = np.arange(20) * 100 * MS + rng.integers(0, 5 * MS, 20)
    assert period_ns(find_bursts(regular, regular + MS, (MS, MS))) == pytest.approx(100 * MS, rel=0.05)
    wild = np.cumsum(rng.choice([30, 400], 30)) * MS
    assert np.isnan(period_ns(find_bursts(wild, wild, (MS, MS))))
    assert np.isnan(period_ns(find_bursts(regular[:3], regular[:3], (MS, MS))))


def test_nothing_has_no_bursts() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert len(find_bursts(nothing, nothing).start_ns) == 0
