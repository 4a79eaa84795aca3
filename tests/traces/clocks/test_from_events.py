"""Which moments of a trace say something about clocks."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.clocks.constraints import KINDS
from mlperf.traces.clocks.from_events import clock_numbers, collective_constraints, constraints_of, direction, message_constraints
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table


def test_a_clock_is_a_host_where_all_have_one_else_a_rank() -> None:
    ranks = np.array([2, 0, 2])
    number, names = clock_numbers(event_table(3, rank=ranks, host=np.array([5, 5, 7])))
    assert (number.tolist(), names) == ([0, 0, 1], ("host 5", "host 7"))
    number, names = clock_numbers(event_table(3, rank=ranks, host=np.array([5, -1, 7])))
    assert (number.tolist(), names) == ([1, 0, 1], ("rank 0", "rank 2"))
    assert clock_numbers(event_table(2))[0].tolist() == [-1, -1]


def test_a_message_ends_after_it_began_and_a_posted_receive_with_its_wait() -> None:
    table = event_table(
        5,
        kind=np.array([Kind.SEND, Kind.RECV, Kind.ISEND, Kind.IRECV, Kind.WAIT]),
        rank=np.array([0, 1, 1, 0, 0]),
        start_ns=np.array([10, 1_000, 2_000, 5, 90]),
        duration_ns=np.array([5, 50, 1, 2, 30]),
        match=np.array([1, 0, 3, 2, -1]),
        corr=np.array([-1, -1, -1, 77, 77]),
    )
    found = message_constraints(table, table.rank.astype(np.int64), 4)
    assert found.earlier.tolist() == [0, 1]
    assert found.later.tolist() == [1, 0]
    assert found.earlier_ns.tolist() == [10, 2_000]
    assert found.later_ns.tolist() == [1_050, 120]
    # Nothing says when a receive that nobody waits for is complete.
    open_ended = table.take(np.array([0, 1, 2, 3]))
    assert len(message_constraints(open_ended, open_ended.rank.astype(np.int64))) == 1


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("MPI_Allreduce", {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}),
        ("ncclReduceScatter", {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}),
        ("MPI_Bcast", {(1, 0), (1, 2)}),
        ("MPI_Reduce", {(0, 1), (2, 1)}),
        ("MPI_Exscan", set()),
    ],
)
def test_who_waits_for_whom_in_a_collective(name: str, pairs: set[tuple[int, int]]) -> None:
    table = event_table(
        4,
        kind=int(Kind.COLL),
        rank=np.array([0, 1, 2, 0]),
        corr=np.array([3, 3, 3, 4]),
        peer=1,
        name=0,
        strings=(name,),
        duration_ns=9,
    )
    found = collective_constraints(table, table.rank.astype(np.int64))
    assert {(int(a), int(b)) for each in found for a, b in zip(each.earlier, each.later, strict=True)} == pairs


def test_longer_names_win() -> None:
    assert direction("reduce_scatter") == direction("all reduce") == "everybody"
    assert (direction("Gatherv"), direction("scatterv"), direction("sin")) == ("to the root", "from the root", "")


def test_a_launch_precedes_its_kernel() -> None:
    table = event_table(
        3, kind=np.array([Kind.API, Kind.KERNEL, Kind.KERNEL]), start_ns=np.array([100, 160, 5]), corr=np.array([1, 1, 9])
    )
    found = constraints_of(table, np.array([0, 1, 1]))
    assert [KINDS[kind] for kind in found.kind] == ["launch"]
    assert (found.earlier_ns.tolist(), found.later_ns.tolist()) == ([100], [160])
