"""What people read about a trace."""

from __future__ import annotations

from mlperf.report.traces.checks import check_answer, check_sections
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


def test_unknown_clocks_are_said_to_be_so() -> None:
    text = check_sections(check_trace(event_table(1, rank=0, kind=Kind.SEND)))[-1].text
    assert "tells nothing of the clocks' uncertainty" in text
