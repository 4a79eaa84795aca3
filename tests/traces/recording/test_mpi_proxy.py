"""A real mpi4py program of four ranks under the proxy."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.rank_file import PAIRED, WILDCARD
from mlperf.traces.readers.recorded import read_recorded
from mlperf.traces.recording.mpi_proxy import RecordedComm, unwrap

from .conftest import Own, Plain, events_in, line_of, proxied

N_RANKS, N_TURNS = 4, 3


@pytest.mark.slow
def test_messages_have_peer_size_tag_and_wait(proxy_talked: EventTable) -> None:
    table = proxy_talked
    for tag, kind, size, flag in ((11, Kind.IRECV, 500, 0), (12, Kind.IRECV, 100, int(Flag.WILDCARD)), (12, Kind.SEND, 100, 0)):
        rows = np.flatnonzero((table.tag == tag) & (table.kind == kind))
        assert len(rows) == N_RANKS * N_TURNS
        assert set(table.size_bytes[rows].tolist()) == {size}
        step = 1 if kind == Kind.SEND else -1
        assert (table.peer[rows] == (table.rank[rows] + step) % N_RANKS).all()
        assert set((table.flags[rows] & Flag.WILDCARD).tolist()) == {flag}
    waits = table.of_kind(Kind.WAIT)
    # Two in each turn, and both ends of the lower-case message at the end.
    assert len(waits) == N_RANKS * (2 * N_TURNS + 2)
    posts = table.of_kind(Kind.ISEND, Kind.IRECV)
    assert set(posts.corr.tolist()) == set(waits.corr.tolist())


@pytest.mark.slow
def test_objects_have_the_size_of_their_pickle(proxy_talked: EventTable) -> None:
    import pickle

    rows = np.flatnonzero(proxy_talked.tag == 21)
    assert len(rows) == 2
    size = set(proxy_talked.size_bytes[rows].tolist())
    assert len(size) == 1
    assert size.pop() == len(pickle.dumps({"words": "x" * 50}, pickle.HIGHEST_PROTOCOL))


@pytest.mark.slow
def test_ranks_of_communicators_are_ranks_of_the_world(proxy_talked: EventTable) -> None:
    table = proxy_talked
    sends = np.flatnonzero((table.tag == 31) & (table.kind == Kind.SEND))
    assert dict(zip(table.rank[sends].tolist(), table.peer[sends].tolist(), strict=True)) == {0: 2, 2: 0, 1: 3, 3: 1}
    assert (table.flags[sends] & Flag.PAIRED > 0).all()
    assert (table.match[sends] >= 0).all()


@pytest.mark.slow
def test_what_is_switched_off_is_not_recorded(proxy_talked: EventTable) -> None:
    assert Counter(proxy_talked.text(proxy_talked.name))["MPI_Barrier"] == N_RANKS * N_TURNS


@pytest.mark.slow
def test_regions(proxy_talked: EventTable) -> None:
    regions = proxy_talked.of_kind(Kind.REGION)
    assert Counter(regions.text(regions.name)) == {"loop": N_RANKS * N_TURNS, "inner": N_RANKS * N_TURNS}
    assert set(regions.step.tolist()) == {0, 1, 2}


@pytest.mark.slow
def test_calls_stand_where_the_program_has_them(proxy_talked: EventTable) -> None:
    places = dict(zip(proxy_talked.text(proxy_talked.name), proxy_talked.text(proxy_talked.site), strict=True))
    for name, words in (("MPI_Sendrecv", "half.Sendrecv"), ("MPI_Waitall", "Waitall("), ("inner", 'region("inner")')):
        assert places[name] == f"talk.py:{line_of('talk.py', words)} <module>"


@pytest.mark.slow
def test_a_crash_keeps_what_was_recorded(tmp_path: Path) -> None:
    found = proxied(tmp_path / "run", "crash")
    assert found.command_exit_code != 0
    table = read_recorded(tmp_path / "run")
    mine = table.take(table.rank == 1)
    # The others go on until the launcher has ended them: two turns at least are there.
    assert Counter(mine.tag[mine.kind == Kind.SEND].tolist())[12] >= 2
    assert any("ended before MPI did" in note for note in table.notes)


@pytest.mark.parametrize("maker", ["Dup_with_info", "Create_dist_graph_adjacent", "Create_graph", "Split"])
def test_communicators_made_from_a_wrapped_one_are_wrapped(maker: str, tmp_path: Path) -> None:
    made = Plain()
    comm = RecordedComm(Own(tmp_path), Plain(**{maker: made}))  # type: ignore[arg-type]
    found = getattr(comm, maker)(comm, other=comm)
    assert isinstance(found, RecordedComm)
    assert found._comm is made
    ((_, arguments, named),) = comm._comm.called
    assert arguments == (comm._comm,)
    assert named == {"other": comm._comm}


def test_a_communicator_that_is_made_later_is_wrapped_and_other_makers_are_not(tmp_path: Path) -> None:
    comm = RecordedComm(Own(tmp_path), Plain(Idup=(Plain(), "request"), Create_keyval=7))  # type: ignore[arg-type]
    found, request = comm.Idup()
    assert isinstance(found, RecordedComm)
    assert request._request == "request"
    assert comm.Create_keyval() == 7


def test_functions_that_take_a_communicator_get_the_plain_one(tmp_path: Path) -> None:
    plain = Plain()
    assert unwrap(RecordedComm(Own(tmp_path), plain)) is plain  # type: ignore[arg-type]
    assert unwrap(plain) is plain


def test_an_exchange_in_one_buffer_is_both_halves_of_a_call(tmp_path: Path) -> None:
    own = Own(tmp_path)
    RecordedComm(own, Plain()).Sendrecv_replace(np.zeros(5), 2, 4)  # type: ignore[arg-type]
    send, receive = events_in(own, tmp_path)
    assert (send["kind"], send["peer"], send["tag"], send["size"]) == (Kind.SEND, 2, 4, 40)
    assert (receive["kind"], receive["peer"], receive["tag"], receive["size"]) == (Kind.RECV, 1, 3, 24)
    assert (send["flags"] & PAIRED, receive["flags"]) == (PAIRED, PAIRED | WILDCARD)
    assert send["id"] == receive["id"]
