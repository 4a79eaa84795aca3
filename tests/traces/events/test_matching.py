"""Matching against queues that are walked one message at a time, as an MPI library does."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.matching import event_numbers, match_collectives, match_messages
from mlperf.traces.events.table import EventTable, event_table


def random_ends(seed: int) -> EventTable:
    """Messages between random ranks: every send has its receive, in any order of rows, times partly equal."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 80))
    source, target = rng.integers(0, 4, n), rng.integers(0, 4, n)
    tag, comm = rng.integers(-1, 3, n), rng.integers(0, 2, n)
    order = rng.permutation(2 * n)
    kinds = np.concatenate((rng.choice([Kind.SEND, Kind.ISEND], n), rng.choice([Kind.RECV, Kind.IRECV], n)))
    return event_table(
        2 * n,
        start_ns=rng.integers(0, 60, 2 * n)[order],
        rank=np.concatenate((source, target))[order],
        peer=np.concatenate((target, source))[order],
        tag=np.concatenate((tag, tag))[order],
        comm=np.concatenate((comm, comm))[order],
        kind=kinds[order],
    )


def queued(table: EventTable) -> list[int]:
    """Partners by first-in-first-out queues, sends and receives taken in the order of posting."""
    waiting: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
    match = [-1] * len(table)
    rows = sorted(range(len(table)), key=lambda row: (int(table.start_ns[row]), row))
    for row in (each for each in rows if table.kind[each] in (Kind.SEND, Kind.ISEND)):
        waiting[key(table, row, int(table.rank[row]), int(table.peer[row]))].append(row)
    for row in (each for each in rows if table.kind[each] in (Kind.RECV, Kind.IRECV)):
        partner = waiting[key(table, row, int(table.peer[row]), int(table.rank[row]))].popleft()
        match[row], match[partner] = partner, row
    return match


def key(table: EventTable, row: int, source: int, target: int) -> tuple[int, ...]:
    return source, target, int(table.comm[row]), int(table.tag[row])


@pytest.mark.parametrize("seed", range(40))
def test_the_ith_send_goes_to_the_ith_receive(seed: int) -> None:
    table = random_ends(seed)
    assert match_messages(table).match.tolist() == queued(table)


def test_very_different_tags_do_not_run_into_one_another() -> None:
    """Ranks times tags times communicators would not fit 64 bits."""
    big = 2**31 - 1
    table = event_table(
        4,
        rank=[big - 1, big - 1, 0, 0],
        peer=[0, 0, big - 1, big - 1],
        tag=[big, 5, 5, big],
        comm=[0, big, big, 0],
        kind=[Kind.SEND, Kind.SEND, Kind.RECV, Kind.RECV],
    )
    assert match_messages(table).match.tolist() == [3, 2, 1, 0]


def test_ends_without_partner_are_named() -> None:
    table = event_table(3, start_ns=[5, 7, 9], rank=[0, 0, 1], peer=[1, 1, 0], tag=[3, 3, 3], kind=[1, 1, 2], size_bytes=[8, 16, 8])
    with pytest.raises(DataError, match="1 of 3 sends and receives have no partner: rank 0, event 1: SEND peer 1, tag 3, 16 bytes"):
        match_messages(table)
    dropped = match_messages(table, drop_unmatched=True)
    assert dropped.match.tolist() == [2, -1, 0]
    assert (dropped.flags & Flag.UNMATCHED).tolist() == [0, Flag.UNMATCHED, 0]
    assert "1 sends and receives have no partner" in dropped.notes[0]


def test_ends_to_nobody_take_no_part() -> None:
    assert match_messages(event_table(1, rank=[0], kind=[Kind.SEND])).match.tolist() == [-1]


def test_numbers_count_by_time_on_every_rank() -> None:
    table = event_table(4, start_ns=[9, 1, 5, 2], rank=[1, 0, 1, -1], kind=1)
    assert event_numbers(table).tolist() == [1, 0, 0, 0]


def collectives(names: list[int], ranks: list[int], starts: list[int], comm: int = 0) -> EventTable:
    return event_table(
        len(names), strings=("bcast", "reduce"), name=names, rank=ranks, start_ns=starts, kind=Kind.COLL, comm=comm, duration_ns=1
    )


def test_the_ith_call_of_every_rank_is_one_operation() -> None:
    """Rank 1 calls late, and its rows stand in reverse."""
    table = match_collectives(collectives([0, 1, 1, 0], [0, 0, 1, 1], [0, 10, 30, 20]))
    assert table.corr[0] == table.corr[3] != table.corr[1] == table.corr[2]


def test_different_operations_do_not_meet() -> None:
    with pytest.raises(DataError, match="rank 1 calls reduce where rank 0 calls bcast"):
        match_collectives(collectives([0, 1], [0, 1], [0, 0]))


def test_a_call_without_the_others_is_told() -> None:
    table = collectives([0, 0, 0], [0, 1, 0], [0, 0, 5])
    with pytest.raises(DataError, match="1 collective operations lack members: rank 0 in bcast"):
        match_collectives(table)
    dropped = match_collectives(table, drop_unmatched=True)
    assert dropped.corr.tolist() == [0, 0, -1]
    assert dropped.flags[2] & Flag.UNMATCHED


def test_operations_told_apart_by_the_format_stay_so() -> None:
    table = collectives([0, 0], [0, 1], [0, 0]).replace(corr=np.array([7, 7]))
    assert match_collectives(table) is table
