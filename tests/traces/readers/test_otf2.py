"""OTF2 archives: written by the library's own writer, and open ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.otf2 import read_otf2
from mlperf.traces.readers.registry import read_trace

otf2 = pytest.importorskip("otf2")
RESOLUTION = 2_000_000_000


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two ranks on a clock of 2 GHz: a posted send and receive with waits, an exchange in one call, a broadcast from rank 1."""
    with otf2.writer.open(str(tmp_path / "run"), timer_resolution=RESOLUTION) as trace:
        definitions = trace.definitions
        node = definitions.system_tree_node("n", "c")
        groups = [definitions.location_group(f"MPI Rank {rank}", system_tree_parent=node) for rank in range(2)]
        locations = [definitions.location("Master", group=group) for group in groups]
        kinds, settings = otf2.enums.GroupType, (otf2.enums.Paradigm.MPI, otf2.enums.GroupFlag.NONE, locations)
        definitions.group("all", kinds.COMM_LOCATIONS, *settings)
        world = definitions.comm("W", definitions.group("world", kinds.COMM_GROUP, *settings))
        writers = [trace.event_writer_from_location(location) for location in locations]

        def call(rank: int, name: str, start: int, end: int, *events: tuple[Any, ...]) -> None:
            writers[rank].enter(start, definitions.region(name))
            for method, time, *rest in events:
                getattr(writers[rank], method)(time, *rest)
            writers[rank].leave(end, definitions.region(name))

        call(0, "MPI_Isend", 100, 110, ("mpi_isend", 105, 1, world, 7, 64, 1))
        call(0, "MPI_Wait", 200, 260, ("mpi_isend_complete", 250, 1))
        call(1, "MPI_Irecv", 100, 120, ("mpi_irecv_request", 110, 9))
        call(1, "MPI_Wait", 120, 300, ("mpi_irecv", 290, 0, world, 7, 64, 9))
        for rank in range(2):
            exchange = (("mpi_send", 410, 1 - rank, world, 3, 8), ("mpi_recv", 440, 1 - rank, world, 3, 8))
            call(rank, "MPI_Sendrecv", 400, 450, *exchange)
            end = ("mpi_collective_end", 590, otf2.enums.CollectiveOp.BCAST, world, 1, 16, 16)
            call(rank, "MPI_Bcast", 500, 600, end)
            call(rank, "solve", 700, 900)
    return tmp_path / "run" / "traces.otf2"


def test_calls_become_events(archive: Path) -> None:
    """Half of a tick count is its nanoseconds; the receive tells its source when it is complete."""
    table = read_trace(archive)
    first, second = (table.take(table.rank == rank) for rank in range(2))
    assert first.kind.tolist() == [Kind.ISEND, Kind.WAIT, Kind.SEND, Kind.RECV, Kind.COLL, Kind.REGION]
    assert second.kind.tolist() == [Kind.IRECV, Kind.WAIT, Kind.SEND, Kind.RECV, Kind.COLL, Kind.REGION]
    assert (first.start_ns - first.start_ns[0]).tolist() == [0, 50, 150, 150, 200, 300]
    assert first.duration_ns.tolist() == [5, 30, 25, 25, 50, 100]
    assert second.peer.tolist() == [0, -1, 0, 0, 1, -1]
    assert second.tag.tolist()[0] == 7
    assert first.corr[0] == first.corr[1] >= 0
    assert second.corr[0] == second.corr[1] >= 0
    assert ((first.flags & Flag.PAIRED) > 0).tolist() == [False, False, True, True, False, False]
    assert first.corr[4] == second.corr[4] >= 0
    assert [int(table.rank[row]) for row in first.match[[0, 2, 3]]] == [1, 1, 1]


def test_a_folder_stands_for_its_archive(archive: Path) -> None:
    assert len(read_otf2(archive.parent)) == len(read_otf2(archive))


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.otf2").write_bytes(b"hello")
    with pytest.raises(DataError, match="is no archive that the OTF2 library reads"):
        read_otf2(tmp_path / "x.otf2")
    with pytest.raises(DataError, match="no such file"):
        read_otf2(tmp_path / "none.otf2")


@pytest.mark.data
@pytest.mark.parametrize(("folder", "span_s"), [("otf2_ping_pong", 0.1996), ("otf2_ping_pong_papi", 0.2155)])
def test_open_archives_hold_what_their_list_says(shared_data: Path, folder: str, span_s: float) -> None:
    """Eight messages each way, 42 functions on the two ranks together, the printed span but for its first and last event."""
    table = read_trace(shared_data / "mpi_traces" / folder)
    messages = table.of_kind(Kind.SEND, Kind.RECV)
    assert np.bincount(table.kind)[[Kind.SEND, Kind.RECV]].tolist() == [16, 16]
    assert len(table) == 42
    assert set(messages.rank.tolist()) == {0, 1}
    assert (table.match >= 0).sum() == 32
    assert int(table.end_ns.max() - table.start_ns.min()) * 1e-9 == pytest.approx(span_s, abs=1e-4)
