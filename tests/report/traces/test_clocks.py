"""What is told of clocks: how well they are known, what is unbounded, what cannot be."""

from __future__ import annotations

import numpy as np

from mlperf.report.traces.clocks import clock_answer, clock_sections
from mlperf.traces.clocks.constraints import constraints
from mlperf.traces.clocks.estimate import estimate_clocks
from mlperf.traces.clocks.report import ClockReport


def report(later_ns: list[int], most_drift_ppm: float = 0.0) -> ClockReport:
    found = constraints([0, 1], [0, 0], [1, 0], later_ns)
    return estimate_clocks(found, ("rank 0", "rank 1", "rank 2"), np.array([[0, 10_000]] * 3), most_drift_ppm=most_drift_ppm)


def test_known_and_unbounded_clocks() -> None:
    text = clock_answer(report([3_000, 5_000])).text()
    assert text.startswith("3 clocks against rank 0: offsets known within 4.00 us; 1 clock with an offset that is unbounded")
    assert "the times as recorded are possible" in text
    assert "NOT possible" in clock_answer(report([3_000, -1_000])).text()
    table, notes = clock_sections(report([3_000, 5_000]))
    assert table.frame is not None
    assert table.frame["offset_us"].tolist()[:2] == [0.0, 1.0]
    assert np.isnan(table.frame["offset_us"].iloc[2])
    assert "Bounds from 2 messages between different clocks; clocks taken to run alike." in notes.text
    assert "rank 2: offset unbounded below and above: nothing connects it with rank 0." in notes.text


def test_a_contradiction_is_told_without_offsets() -> None:
    one = report([3_000, -4_000])
    assert "contradict each other" in clock_answer(one).text()
    (notes,) = clock_sections(one)
    assert "0 ns on rank 1 was before -4,000 ns on rank 0" in notes.text
