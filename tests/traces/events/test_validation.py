"""What is counted in a trace."""

from __future__ import annotations

import math

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.events.validation import check_trace


def test_everything_is_counted_once() -> None:
    """Rank 0 sends 10 bytes in a call that also receives; rank 1 likewise, 3 of them lost on the way; an unmatched receive."""
    table = event_table(
        5,
        start_ns=[100, 100, 150, 150, 900],
        duration_ns=[60, 60, 50, 50, 100],
        rank=[0, 0, 1, 1, 1],
        kind=[Kind.SEND, Kind.RECV, Kind.SEND, Kind.RECV, Kind.RECV],
        peer=[1, 1, 0, 0, 0],
        size_bytes=[10, 20, 20, 7, 5],
        match=[3, 2, 1, 0, -1],
        flags=[64, 64, 64, 64 | Flag.WILDCARD, Flag.UNMATCHED],
        attributes={"clock_uncertainty_ns": {0: 0, 1: 2500}},
    )
    found = check_trace(table)
    assert (found.n_messages, found.n_unmatched, found.n_wildcard, found.n_different_sizes, found.n_violations) == (2, 1, 1, 1, 0)
    assert math.isclose(found.span_s, 900e-9)
    assert math.isclose(found.clock_uncertainty_s, 2.5e-6)
    assert [round(value * 1e9) for value in found.ranks["communication_s"]] == [60, 150]
    assert found.ranks["sent_bytes"].tolist() == [10, 20]
    assert found.ranks["n_received"].tolist() == [1, 2]
    assert found.kinds["n_events"].tolist() == [2, 3]


def test_a_rank_without_events_has_no_times() -> None:
    found = check_trace(event_table(1, rank=[0], kind=1, attributes={"n_ranks": 2}))
    assert math.isnan(found.ranks["first_s"][1])
    assert math.isnan(found.clock_uncertainty_s)
