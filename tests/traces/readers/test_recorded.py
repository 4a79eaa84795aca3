"""Recordings of several ranks: communicators, clocks of several machines, what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.rank_file import CLOCK, OPEN, POSTED, TRIP, WILDCARD
from mlperf.traces.readers.recorded import clock_readings, read_recorded, share_recorded
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.recording.rank_writer import RankWriter

OFFSET_NS = 5_000_000
"""How much the second machine's clock is ahead."""


def rename_host(path: Path, host: bytes) -> None:
    """Another machine's file: host name and start of the system stand in records 1 to 4."""
    content = bytearray(path.read_bytes())
    content[2 * 64 : 3 * 64] = host.ljust(64, b"\0")
    content[64 + 60 : 64 + 64] = len(host).to_bytes(4, "little")
    path.write_bytes(content)


def two_machines(folder: Path) -> None:
    """Rank 0 sends, rank 1 on another machine receives 3000 ns later and answers; clocks are read with a way of 400 ns."""
    for rank, ahead in ((0, 0), (1, OFFSET_NS)):
        writer = RankWriter(folder, rank, 2)
        writer.members(0, (0, 1))
        start = 10_000 + rank * 2_000 + ahead
        kinds = (Kind.SEND, Kind.RECV) if rank == 0 else (Kind.RECV, Kind.SEND)
        for number, kind in enumerate(kinds):
            begin = start + 5_000 * number
            writer.event(kind, "MPI", begin, begin + 3_000, peer=1 - rank, tag=number, comm=0, size=8)
        if rank:
            for when in (1_000, 90_000):
                writer.raw(CLOCK, start_ns=when + ahead, end_ns=when + ahead + 800, tag=TRIP, peer=0, id=when + 400, count=0)
        writer.close(0)
    rename_host(folder / "rank-00001.mlr", b"other")


def test_clocks_of_two_machines_are_put_on_one(tmp_path: Path) -> None:
    two_machines(tmp_path)
    table = read_recorded(tmp_path)
    receive = table.take((table.kind == Kind.RECV) & (table.rank == 1))
    send = table.take((table.kind == Kind.SEND) & (table.rank == 0))
    uncertainty = table.attributes["clock_uncertainty_ns"][1]
    assert 0 < uncertainty <= 500
    assert abs(int(receive.start_ns[0] - send.start_ns[0]) - 2_000) <= uncertainty
    (earlier, later) = clock_readings(tmp_path)
    assert len(earlier) == 0
    assert len(later) == 4


def test_own_numbers_of_communicators_become_the_runs(tmp_path: Path) -> None:
    for rank, numbers in ((0, {0: (0, 1), 1: (1, 0), 2: (1, 0)}), (1, {0: (1, 0), 4: (0, 1), 7: (1, 0)})):
        writer = RankWriter(tmp_path, rank, 2)
        for number, members in numbers.items():
            writer.members(number, members)
        second_of_reversed = 2 if rank == 0 else 7
        writer.event(Kind.COLL, "MPI_Barrier", 5, 9, comm=second_of_reversed, number=3)
        # An answer to a receive from anybody has the sender's rank in the communicator: 0 there is 1 in the world.
        writer.event(Kind.IRECV, "MPI_Irecv", 10, 11, peer=0, tag=2, comm=second_of_reversed, flags=WILDCARD, count=1, number=8)
        writer.close(0)
    table = read_recorded(tmp_path)
    operations = table.of_kind(Kind.COLL)
    assert operations.corr[0] == operations.corr[1] >= 0
    assert operations.comm[0] == operations.comm[1]
    receives = table.of_kind(Kind.IRECV)
    assert receives.peer.tolist() == [1, 1]
    assert receives.flags.tolist() == [Flag.WILDCARD] * 2
    assert receives.corr[0] != receives.corr[1]
    # Rank 0 met (0, 1), (1, 0) and (1, 0) again; partial sums of the latter two go from rank 1 to rank 0.
    assert table.attributes["reordered_comms"] == {1: [1, 0], 2: [1, 0]}


def test_what_is_missing_is_counted(tmp_path: Path) -> None:
    writer = RankWriter(tmp_path, 1, 3)
    writer.members(0, (0, 1, 2))
    writer.event(Kind.ISEND, "MPI_Isend", 1, 2, peer=0, tag=1, comm=0, flags=OPEN)
    writer.event(Kind.COLL, "MPI_Ibarrier", 3, 4, comm=0, number=1, flags=POSTED)
    writer.close(2)
    table = read_recorded(tmp_path)
    assert table.flags[0] == Flag.TRUNCATED
    assert Kind(int(table.kind[1])) == Kind.API
    for words in ("2 of 3 ranks left no file: 0, 2", "1 posted messages", "1 non-blocking collective", "2 ends of regions"):
        assert any(words in note for note in table.notes), words
    with pytest.raises(DataError, match="no partner"):
        read_trace(tmp_path)


def test_folders_that_hold_no_recording(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no file"):
        read_recorded(tmp_path)
    RankWriter(tmp_path, 0, 1).close(0)
    assert len(read_recorded(tmp_path)) == 0
    (tmp_path / "rank-00009.mlr").write_bytes((tmp_path / "rank-00000.mlr").read_bytes())
    with pytest.raises(DataError, match="every rank of one run once"):
        read_recorded(tmp_path)


def test_counts_are_no_events(tmp_path: Path) -> None:
    writer = RankWriter(tmp_path, 0, 1)
    writer.event(104, "MPI_Send", 5, 0, number=3, comm=-1)
    writer.close(0)
    with pytest.raises(DataError, match="counts of calls"):
        read_recorded(tmp_path)


def test_the_scale_is_by_time() -> None:
    regions = {
        "solve": {"passes": 10.0, "recorded": 2.0, "ns": 900.0, "recorded_ns": 100.0},
        "other": {"passes": 3.0, "recorded": 0.0, "ns": 50.0, "recorded_ns": 0.0},
    }
    assert share_recorded(regions) == 9.0
    assert share_recorded({}) == 1.0
    assert np.isfinite(share_recorded({"other": regions["other"]}))
