"""Collective operations under the proxy."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.recorded import read_recorded
from mlperf.traces.recording.mpi_proxy import RecordedComm

from .conftest import Own, Plain, events_in


@pytest.mark.slow
def test_members_of_an_operation_share_a_number(proxy_talked: EventTable) -> None:
    table = proxy_talked
    names = np.array(table.text(table.name))
    for name, n_operations, n_members, roots in (
        ("MPI_Bcast", 2, 2, {2, 3}),
        ("MPI_Gather", 1, 4, {3}),
        ("MPI_Barrier", 3, 4, {-1}),
    ):
        rows = np.flatnonzero(names == name)
        assert Counter(Counter(table.corr[rows].tolist()).values()) == {n_members: n_operations}, name
        assert set(table.peer[rows].tolist()) == roots
    sums = np.flatnonzero((names == "MPI_Allreduce") & (table.size_bytes == 8))
    assert len(set(table.corr[sums].tolist())) == 2


@pytest.mark.slow
def test_only_the_root_of_an_object_contributes(proxy_talked: EventTable) -> None:
    table = proxy_talked
    rows = np.flatnonzero(np.array(table.text(table.name)) == "MPI_Bcast")
    assert ((table.size_bytes[rows] > 0) == (table.rank[rows] == table.peer[rows])).all()


TEN = np.zeros(10)
OPERATIONS = (
    #  method                  arguments             bytes  root
    ("Gatherv", (TEN, None, 2), 80, 2),
    ("Scatterv", (None, TEN, 2), 80, 2),
    ("Allgatherv", (TEN, None), 80, -1),
    ("Alltoallv", (TEN, None), 80, -1),
    ("Alltoallw", (TEN, None), 80, -1),
    ("Reduce_scatter", (-1, TEN, [5, 5]), 80, -1),
    ("Reduce_scatter_block", (TEN, None), 80, -1),
    ("Scan", (TEN, None), 80, -1),
    ("Exscan", (TEN, None), 80, -1),
    ("scan", (1,), len(pickle.dumps(1)), -1),
    ("exscan", (1,), len(pickle.dumps(1)), -1),
)


def test_operations_with_counts_and_partial_sums_are_recorded(tmp_path: Path) -> None:
    own, plain = Own(tmp_path), Plain()
    comm = RecordedComm(own, plain)  # type: ignore[arg-type]
    for method, arguments, _, _ in OPERATIONS:
        getattr(comm, method)(*arguments)
    events = events_in(own, tmp_path)
    assert [name for name, _, _ in plain.called] == [method for method, _, _, _ in OPERATIONS]
    assert set(events["kind"].tolist()) == {Kind.COLL}
    assert events["size"].tolist() == [size for _, _, size, _ in OPERATIONS]
    assert events["peer"].tolist() == [root for _, _, _, root in OPERATIONS]
    assert not events["flags"].any()


class Request:
    """Done at once."""

    Wait = staticmethod(lambda _status: True)
    Test = staticmethod(lambda _status: True)
    Start = staticmethod(lambda: None)


def test_what_is_posted_or_made_for_all_is_waited_for_by_a_recorded_call(tmp_path: Path) -> None:
    methods = ("Ibarrier", "Ineighbor_alltoall", "Isendrecv", "Allreduce_init")
    own, plain = Own(tmp_path), Plain(Idup=(Plain(), Request()), **{name: Request() for name in methods})
    comm = RecordedComm(own, plain)  # type: ignore[arg-type]
    requests = [getattr(comm, name)() for name in methods]
    requests[-1].Start()
    for request in (*requests, comm.Idup()[1]):
        assert isinstance(request, comm.Request)
        assert request.Test()
        assert request.Wait()
    assert comm.Neighbor_alltoall() is None
    events = events_in(own, tmp_path)
    assert Counter(events["kind"].tolist()) == {Kind.COLL: 5, Kind.WAIT: 10}


def test_calls_for_which_nobody_is_known_to_wait_are_timed_and_counted(tmp_path: Path) -> None:
    own, plain = Own(tmp_path), Plain()
    comm = RecordedComm(own, plain)  # type: ignore[arg-type]
    comm.Ibarrier()
    comm.Iallreduce(TEN, TEN, op="max")
    comm.Neighbor_alltoall(TEN, TEN)
    comm.Psend_init(TEN, 2, 1)
    comm.Get_name()
    own.writer.close(0)
    table = read_recorded(tmp_path)
    assert Counter(table.kind.tolist()) == {Kind.API: 4}
    assert plain.called[1] == ("Iallreduce", (TEN, TEN), {"op": "max"})
    assert any(note.startswith("2 non-blocking collective operations") for note in table.notes)
    assert any(note.startswith("2 calls of MPI_Neighbor_alltoall, MPI_Psend_init are kept") for note in table.notes)


@pytest.mark.parametrize(("root", "answer", "expected"), [(-4, None, None), (-3, None, None), (1, pickle.dumps("x"), "x")])
def test_an_object_is_broadcast_to_the_other_group(root: int, answer: object, expected: object, tmp_path: Path) -> None:
    """Between two groups only the sender is MPI.ROOT, and those beside it are MPI.PROC_NULL: nothing comes to either."""
    comm = RecordedComm(Own(tmp_path), Plain(rank=1, Is_inter=True, bcast=answer))  # type: ignore[arg-type]
    assert comm.bcast("x", root) == expected
