"""Programs from tables: what is computed between calls, and what is said about oddities."""

from __future__ import annotations

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.graph.program import program_of


def test_computes_are_what_lies_between_calls_and_behind_the_last() -> None:
    kinds = [Kind.COLL, Kind.COLL, Kind.COMPUTE, Kind.COMPUTE]
    table = event_table(4, start_ns=[10, 25, 0, 30], duration_ns=[5, 5, 40, 3], rank=[0, 0, 1, 0], kind=kinds, corr=[0, 1, -1, -1])
    program = program_of(table)
    assert program.compute_ns.tolist() == [10, 10, 3, 40]
    assert program.rank_end_ns.tolist() == [33, 40]
    assert program.measured_ns == 40
    assert program.calls.number[1:3].tolist() == [1, -1]


def test_oddities_are_counted() -> None:
    kinds = [Kind.SEND, Kind.RECV, Kind.COLL]
    flags = [Flag.UNMATCHED, Flag.UNMATCHED | Flag.WILDCARD, 0]
    table = event_table(3, start_ns=[0, 4, 6], duration_ns=[5, 1, 1], rank=0, peer=1, kind=kinds, flags=flags)
    notes = " ".join(program_of(table).notes)
    assert "1 calls start before the one before" in notes
    assert "2 sends and receives have no partner" in notes
    assert "1 collective calls belong to no operation" in notes
    assert "1 receives took any source" in notes
