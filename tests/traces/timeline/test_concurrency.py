"""Shares of windows of made runs."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.events.counters import Series, counter_table
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.timeline.concurrency import IDLE, concurrency, concurrency_summary, mean_rates

MS = 1_000_000


def made_windows() -> tuple[object, object]:
    """A device that works in the second window, messages in the third, the processor in the first."""
    events = event_table(
        3,
        start_ns=np.array([100, 150, 210]) * MS,
        duration_ns=np.array([30, 40, 90]) * MS,
        kind=np.array([Kind.KERNEL, Kind.KERNEL, Kind.RECV]),
    )
    times = np.array([0, 100, 200, 300, 400]) * MS
    counters = counter_table(
        [
            (Series("cpu.user", "cores"), times, [0, 1.7, 0.5, 0.2, 0.01]),
            (Series("cpu.user", "cores", "cpu0"), times, [9, 9, 9, 9, 9]),
            (Series("net.sent", "bytes/s", "eth0"), times, [0, 0, 12.5e6, 0, 0]),
            (Series("net.sent", "bytes/s", "lo"), times, [9e9, 9e9, 9e9, 9e9, 9e9]),
        ]
    )
    return events, counters


def test_shares_and_the_largest_of_each_window() -> None:
    events, counters = made_windows()
    found = concurrency(events, counters, (0, 400 * MS))  # type: ignore[arg-type]
    assert found["largest"].tolist() == ["usr", "gpu", "comm", IDLE]
    np.testing.assert_allclose(found["usr"], [1.0, 0.5, 0.2, 0.01])
    np.testing.assert_allclose(found["gpu"], [0, 0.7, 0, 0])
    np.testing.assert_allclose(found["comm"], [0, 0, 0.9, 0])
    np.testing.assert_allclose(found["net"], [0, 0.1, 0, 0])
    assert found["iowait"].isna().all()
    summary = concurrency_summary(found).set_index("activity")
    assert summary["run_share"].sum() == pytest.approx(1.0)
    assert summary.loc["gpu", "time_s"] == pytest.approx(0.1)
    assert np.isnan(summary.loc["iowait", "mean_share"])


def test_windows_add_up_to_all_of_the_device_work() -> None:
    rng = np.random.default_rng(1)
    start = np.sort(rng.integers(0, 900 * MS, 200))
    events = event_table(200, start_ns=start, duration_ns=rng.integers(0, 8 * MS, 200), kind=np.full(200, Kind.KERNEL))
    found = concurrency(events, counter_table([]), (0, 950 * MS), window_ns=70 * MS)
    covered = np.zeros(950_000, dtype=bool)
    for begin, end in zip(events.start_ns // 1000, events.end_ns // 1000, strict=True):
        covered[begin:end] = True
    assert (found["gpu"] * found["length_s"]).sum() == pytest.approx(covered.sum() * 1e-6, rel=1e-3)


def test_a_rate_holds_since_the_reading_before() -> None:
    edges = np.array([0, 10, 20, 40])
    np.testing.assert_allclose(mean_rates(np.array([5, 15, 20]), np.array([99.0, 2.0, 4.0]), edges), [2.0, 3.0, np.nan])
    assert np.isnan(mean_rates(np.array([5]), np.array([1.0]), edges)).all()


def test_a_moment_that_is_years_away_makes_no_more_windows_than_fit() -> None:
    events = event_table(
        2, start_ns=np.array([0, 1_700_000_000 * 10**9]), duration_ns=np.full(2, 5 * MS), kind=np.full(2, Kind.KERNEL)
    )
    found = concurrency(events, counter_table([]), (0, 1_700_000_001 * 10**9))
    assert len(found) <= 1_000_001
    assert (found["gpu"] * found["length_s"]).sum() == pytest.approx(0.01)
