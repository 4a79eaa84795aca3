"""Algorithms of collective operations by what every member knows after them, and expanded tables by their replays."""

from __future__ import annotations

import numpy as np
import pytest
from message_programs import LATENCY, OVERHEAD, protocol_timing

from mlperf.core.errors import UsageError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.graph.expand import ALGORITHMS, expand_collectives
from mlperf.traces.graph.groups import Flow
from mlperf.traces.replay import replay


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize("n_members", [1, 2, 3, 4, 5, 7, 8, 13])
def test_everyone_hears_of_everyone_they_wait_for(name: str, n_members: int) -> None:
    algorithm, flow = ALGORITHMS[name]
    knows = [{member} for member in range(n_members)]
    transfers = sorted(algorithm(n_members), key=lambda each: each.round)
    for number in sorted({each.round for each in transfers}):
        before = [set(each) for each in knows]
        mine = [each for each in transfers if each.round == number]
        for each in mine:
            knows[each.receiver] |= before[each.sender]
        for side in ("sender", "receiver"):
            members = [getattr(each, side) for each in mine]
            assert len(members) == len(set(members)), "a call sends once and receives once"
    everyone = set(range(n_members))
    if flow == Flow.ALL:
        assert all(each == everyone for each in knows)
    elif flow == Flow.FROM_ROOT:
        assert all(0 in each for each in knows)
        assert len(transfers) == n_members - 1
    else:
        assert knows[0] == everyone
        assert len(transfers) == n_members - 1


def barrier(n_ranks: int, name: str = "MPI_Barrier", size: int = 0) -> EventTable:
    """Ranks that come at once to two operations, 1000 apart."""
    return event_table(
        2 * n_ranks,
        start_ns=np.repeat([500, 2500], n_ranks),
        duration_ns=1000,
        rank=np.tile(np.arange(n_ranks), 2),
        kind=Kind.COLL,
        corr=np.repeat([5, 3], n_ranks),
        peer=1,
        size_bytes=size,
        name=0,
        strings=[name],
    )


def test_a_barrier_takes_as_many_messages_in_a_row_as_its_algorithm_has_rounds() -> None:
    """Eager empty messages: o + L until one is there, o for taking it; the preset takes one byte off the wire time."""
    for n_ranks, rounds in ((2, 1), (4, 2), (5, 3), (16, 4)):
        table = expand_collectives(barrier(n_ranks, size=1), to_all="dissemination")
        table = table.replace(size_bytes=np.ones(len(table), dtype=np.int64))
        one = rounds * (OVERHEAD + LATENCY + OVERHEAD)
        assert replay(table, protocol_timing()).total_ns == 500 + one + 1000 + one
        assert len(table) == 2 * 2 * rounds * n_ranks
        assert "2 collective operations" in table.notes[-1]


def test_a_root_is_where_the_tree_begins() -> None:
    table = expand_collectives(barrier(4, "MPI_Bcast", 64))
    sends = table.take(table.kind == Kind.SEND)
    assert set(sends.rank[:1].tolist()) <= {1, 2}
    assert set(sends.rank.tolist()) == {1, 2}, "rank 1 sends to 2 and 3, and 2 to 0"
    assert sends.size_bytes.tolist() == [64] * 6


def test_bytes_of_a_ring_are_those_of_its_formula() -> None:
    table = expand_collectives(barrier(4, "MPI_Allreduce", 4000), to_all="ring")
    sent = table.size_bytes[table.kind == Kind.SEND].sum()
    assert sent == 2 * 4 * 2 * 3 * 1000


def test_an_operation_of_one_member_stays_a_call() -> None:
    table = expand_collectives(barrier(1))
    assert table.kind.tolist() == [Kind.COLL] * 2
    assert replay(table, protocol_timing()).total_ns == 3500


def test_an_algorithm_for_another_flow_is_refused() -> None:
    with pytest.raises(UsageError, match="recursive-doubling"):
        expand_collectives(barrier(2), to_all="binomial")
