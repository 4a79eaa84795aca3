"""Lines as viewers of ALOG expect them; that they are read again is tested with the reader."""

from __future__ import annotations

from pathlib import Path

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.writers.alog import write_alog


def test_states_hold_their_messages_and_nest(tmp_path: Path) -> None:
    """A region around a send and a receive that follow one another without a gap; the receive's arrow ends where it ends."""
    table = event_table(
        3,
        start_ns=[1_000, 1_000, 3_500],
        duration_ns=[9_000, 2_500, 6_500],
        rank=1,
        kind=[Kind.REGION, Kind.SEND, Kind.RECV],
        name=[0, -1, -1],
        strings=("PRGN",),
        peer=[-1, 0, 0],
        tag=[-1, 4, 5],
        size_bytes=[0, 80, 90],
    )
    write_alog(table, tmp_path / "x.alog")
    lines = (tmp_path / "x.alog").read_text().splitlines()
    head, body = [line for line in lines if line.startswith("-1") and not line.startswith("-10")], lines[-8:]
    assert [line.split()[6:] for line in head if line.startswith("-13")] == [
        ["green:boxes", "PRGN"], ["red:boxes", "MPI_Send"], ["yellow:boxes", "MPI_Recv"],
    ]  # fmt: skip
    assert body == [
        "0 1 -1 -1 0 1 -1 0 ns=0",
        "2 1 -1 0 0 1 -1 80 ns=0",
        "-101 1 -1 0 0 1 4 80 ns=0",
        "3 1 -1 0 0 3 -1 80 ns=500",
        "4 1 -1 0 0 3 -1 90 ns=500",
        "-102 1 -1 0 0 10 5 90 ns=0",
        "5 1 -1 0 0 10 -1 90 ns=0",
        "1 1 -1 -1 0 10 -1 0 ns=0",
    ]
