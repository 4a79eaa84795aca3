"""Calls in program order, halves of one call, and what a WAIT completes."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.graph.calls import calls_of, wait_of


def test_calls_of_no_duration_come_before_what_starts_with_them() -> None:
    """At 5 a call ends at once, and the next begins: by start, then by end, then as they stand."""
    starts, durations = [5, 5, 0, 5, 1], [10, 0, 5, 0, 3]
    table = event_table(5, start_ns=starts, duration_ns=durations, rank=[0, 0, 0, 0, 1], kind=Kind.SEND)
    calls = calls_of(table)
    assert calls.rows.tolist() == [2, 1, 3, 0, 4]
    assert calls.first.tolist() == [0, 4, 5]
    assert calls.before.tolist() == [-1, 0, 1, 2, -1]
    assert calls.number.tolist() == [3, 1, 0, 2, 4, -1]


def test_two_halves_are_one_call_and_a_half_alone_is_one_too() -> None:
    corr, flags = [7, 7, 7, 8], Flag.PAIRED
    rank = [0, 0, 1, 1]
    table = event_table(
        4, start_ns=[0, 0, 0, 9], rank=rank, kind=[Kind.SEND, Kind.RECV, Kind.SEND, Kind.RECV], corr=corr, flags=flags
    )
    assert calls_of(table).call.tolist() == [0, 0, 1, 2]


def test_ranks_without_calls_have_none() -> None:
    table = event_table(1, rank=2, kind=Kind.COLL, attributes={"n_ranks": 5})
    assert calls_of(table).first.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_wait_is_found_on_its_own_rank() -> None:
    kinds = [Kind.IRECV, Kind.WAIT, Kind.ISEND, Kind.ISEND, Kind.WAIT]
    table = event_table(5, start_ns=[0, 1, 0, 1, 2], rank=[0, 0, 1, 1, 1], kind=kinds, corr=[4, 4, 4, -1, 4])
    assert wait_of(calls_of(table), table).tolist() == [1, 1, 4, -1, 4]


def test_a_wait_before_what_it_completes_is_refused() -> None:
    table = event_table(2, start_ns=[0, 1], rank=0, kind=[Kind.WAIT, Kind.IRECV], corr=4)
    with pytest.raises(DataError, match="completed by a WAIT before it"):
        wait_of(calls_of(table), table)


@pytest.mark.parametrize(("kind", "rank", "said"), [(Kind.COMPUTE, 0, "no communication"), (Kind.SEND, -1, "have no rank")])
def test_what_is_no_program_is_refused(kind: Kind, rank: int, said: str) -> None:
    with pytest.raises(DataError, match=said):
        calls_of(event_table(2, rank=np.array([rank, rank]), kind=kind))
