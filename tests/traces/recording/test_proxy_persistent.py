"""Persistent requests of a real mpi4py program of four ranks, and its other ways to post and to complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.rank_file import OPEN, WILDCARD, read_rank_file
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.recording.proxy_persistent import Message, RecordedPrequest

from .conftest import Own, line_of, proxied

N_RANKS, N_TURNS = 4, 3


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> EventTable:
    out = tmp_path_factory.mktemp("started") / "run"
    assert proxied(out, program="starts.py").command_exit_code == 0
    return read_trace(out)


def rows_of(table: EventTable, tag: int, *kinds: Kind) -> np.ndarray:
    return np.flatnonzero((table.tag == tag) & np.isin(table.kind, kinds))


@pytest.mark.slow
def test_every_start_is_a_message_with_its_own_wait(started: EventTable) -> None:
    for kind, step in ((Kind.ISEND, 1), (Kind.IRECV, -1)):
        rows = rows_of(started, 13, kind)
        assert len(rows) == 2 * N_RANKS * N_TURNS
        # Room for 1,000 bytes: what counts is what came.
        assert set(started.size_bytes[rows].tolist()) == {70}
        assert (started.peer[rows] == (started.rank[rows] + step) % N_RANKS).all()
        assert (started.match[rows] >= 0).all()
        names = started.text(started.name[rows])
        assert sorted(names) == ["MPI_Start"] * (N_RANKS * N_TURNS) + ["MPI_Startall"] * (N_RANKS * N_TURNS)
    waits = started.of_kind(Kind.WAIT)
    for row in rows_of(started, 13, Kind.ISEND, Kind.IRECV).tolist():
        own = (waits.corr == started.corr[row]) & (waits.rank == started.rank[row])
        assert own.sum() == 1
        assert waits.end_ns[own][0] >= started.end_ns[row]


@pytest.mark.slow
def test_starts_stand_where_the_program_has_them(started: EventTable) -> None:
    places = dict(zip(started.text(started.name), started.text(started.site), strict=True))
    assert places["MPI_Startall"] == f"starts.py:{line_of('starts.py', 'Prequest.Startall')} <module>"
    for name, words in (("MPI_Testall", "Testall("), ("MPI_Waitsome", "Waitsome("), ("MPI_Issend", "posted =")):
        assert places[name] == f"starts.py:{line_of('starts.py', words)} <module>"


@pytest.mark.slow
def test_a_start_for_anybody_names_who_sent_and_one_to_nobody_is_none(started: EventTable) -> None:
    rows = rows_of(started, 14, Kind.IRECV)
    assert len(rows) == N_RANKS
    assert (started.peer[rows] == (started.rank[rows] - 1) % N_RANKS).all()
    assert (started.flags[rows] & Flag.WILDCARD > 0).all()
    assert set(started.size_bytes[rows].tolist()) == {40}
    assert len(rows_of(started, 15, Kind.ISEND)) == 0


@pytest.mark.slow
def test_a_start_while_nothing_is_recorded_is_none(started: EventTable) -> None:
    assert len(rows_of(started, 16, Kind.IRECV)) == len(rows_of(started, 16, Kind.SEND)) == N_RANKS


@pytest.mark.slow
def test_every_kind_of_send_is_a_message(started: EventTable) -> None:
    for tag in (17, 18):
        sends = rows_of(started, tag, Kind.SEND, Kind.ISEND)
        assert sorted(started.text(started.name[sends])) == sorted(["MPI_Bsend", "MPI_Ibsend", "MPI_Issend"] * N_RANKS)
        assert (started.match[sends] >= 0).all()
    assert any("4 cancelled messages" in note for note in started.notes)
    assert len(rows_of(started, 99, Kind.IRECV)) == 0


class Plain:
    """A request of mpi4py's that is done at once."""

    def __init__(self) -> None:
        self.starts = 0

    def Start(self) -> None:
        self.starts += 1

    def Wait(self, _status: Any) -> bool:
        return True


def test_each_start_posts_what_was_asked_for_anew(tmp_path: Path) -> None:
    own, plain = Own(tmp_path), Plain()
    own.writer.members(0, (4, 6))
    request = RecordedPrequest(own, plain, Message(Kind.IRECV, 100, -1, -1, 0, WILDCARD), [4, 6])  # type: ignore[arg-type]
    request.Start()
    request.Wait()
    own.records = False
    request.Start()
    request.Wait()
    own.records = True
    request.Start()
    own.writer.close(0)
    assert plain.starts == 3
    events = read_rank_file(tmp_path / "rank-00000.mlr").events
    assert events["kind"].tolist() == [Kind.IRECV, Kind.WAIT, Kind.IRECV]
    assert [[int(each[name]) for name in ("peer", "tag", "size", "flags", "id")] for each in events[[0, 2]]] == [
        [6, 3, 24, WILDCARD, 1],
        [-1, -1, 100, WILDCARD | OPEN, 0],
    ]
