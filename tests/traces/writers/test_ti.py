"""Actions as SimGrid's replay reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.readers.ti import read_ti
from mlperf.traces.writers.ti import write_ti


def test_lines_of_a_rank(tmp_path: Path) -> None:
    table = event_table(
        4,
        strings=("MPI_Allreduce", "MPI_Bcast"),
        name=[-1, 0, 1, -1],
        start_ns=[100, 300, 400, 500],
        duration_ns=[50, 0, 10, 40],
        rank=0,
        kind=[Kind.SEND, Kind.COLL, Kind.COLL, Kind.COMPUTE],
        size_bytes=[9, 8, 7, 0],
        peer=[0, -1, 0, -1],
        tag=[3, -1, -1, -1],
    )
    write_ti(table, tmp_path / "run.ti")
    assert (tmp_path / "run.ti").read_text() == "run_0.txt\n"
    assert (tmp_path / "run_0.txt").read_text().splitlines() == [
        "0 init", "0 compute 100", "0 send 0 3 9 6", "0 compute 150", "0 allreduce 8 0 6", "0 compute 100", "0 bcast 7 0 6",
        "0 compute 130", "0 finalize",
    ]  # fmt: skip


def test_what_the_format_cannot_say_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="non-blocking calls"):
        write_ti(event_table(1, rank=0, kind=Kind.WAIT), tmp_path / "x.ti")
    named = event_table(1, rank=0, kind=Kind.COLL, name=0, strings=("MPI_Exscan",))
    with pytest.raises(DataError, match="has MPI_Exscan"):
        write_ti(named, tmp_path / "x.ti")


def test_every_collective_operation_comes_back_with_its_bytes_and_root(tmp_path: Path) -> None:
    names = ("Bcast", "Reduce", "Gather", "Scatter", "Allreduce", "Allgather", "Alltoall", "Scan", "Reduce_scatter", "Bcast")
    n = len(names)
    peers = [1, 1, 1, 1, -1, -1, -1, -1, -1, -1]
    table = event_table(
        2 * n,
        strings=tuple(f"MPI_{name}" for name in names),
        name=list(range(n)) * 2,
        start_ns=list(range(n)) * 2,
        duration_ns=[0] * (2 * n),
        rank=[0] * n + [1] * n,
        kind=[Kind.COLL] * (2 * n),
        size_bytes=[5] * (2 * n),
        peer=peers * 2,
    )
    write_ti(table, tmp_path / "run.ti")
    found = read_ti(tmp_path / "run.ti")
    found = found.take((found.kind == Kind.COLL) & (found.rank == 0))
    assert found.size_bytes.tolist() == [5] * n
    # A broadcast that names no root has rank 0's.
    assert found.peer.tolist() == [*peers[:-1], 0]
    lines = (tmp_path / "run_0.txt").read_text().splitlines()
    assert "0 allgather 5 5 6 6" in lines
    assert "0 reducescatter 3 2 0 6" in lines
    assert "0 scan 5 0 6" in lines
