"""What is said of a trace and of its clocks."""

from __future__ import annotations

import numpy as np

from mlperf.report.traces.checks import check_answer, check_sections, clock_answer, clock_sections
from mlperf.traces.clocks.constraints import constraints
from mlperf.traces.clocks.estimate import estimate_clocks
from mlperf.traces.clocks.report import ClockReport
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.events.validation import check_trace


def test_faults_are_counted_in_the_answer() -> None:
    """A message of two sizes that is received 60 ns early, and a receive without a partner."""
    table = event_table(
        3,
        start_ns=[100, 10, 200],
        duration_ns=[10, 30, 5],
        rank=[0, 1, 1],
        kind=[Kind.SEND, Kind.RECV, Kind.RECV],
        peer=[1, 0, 0],
        size_bytes=[8, 9, 1],
        match=[1, 0, -1],
        flags=[0, Flag.WILDCARD, Flag.UNMATCHED],
        sources=("made",),
        notes=("something was put right",),
        attributes={"clock_uncertainty_ns": {0: 3000}},
    )
    found = check_trace(table)
    told = check_answer(found).text()
    assert told.startswith("made: 3 events of 2 ranks")
    for fault in ("1 end without a partner", "1 message received before it was sent", "1 message of two sizes"):
        assert fault in told
    text = check_sections(found)[-1].text
    assert "Something was put right." in text
    assert "The worst message is 0.0600 us early" in text
    assert "Clocks are known within 3.00 us" in text


def test_what_was_left_out_is_not_called_nothing_wrong() -> None:
    table = event_table(1, rank=0, kind=Kind.COLL)
    assert check_answer(check_trace(table)).text().rstrip(".").endswith("nothing wrong")
    cut = check_answer(check_trace(table.replace(notes=("the file a.json is cut off",)))).text()
    assert "1 note below, else nothing wrong" in cut


def test_unknown_clocks_are_said_to_be_so() -> None:
    text = check_sections(check_trace(event_table(1, rank=0, kind=Kind.SEND)))[-1].text
    assert "tells nothing of the clocks' uncertainty" in text


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
