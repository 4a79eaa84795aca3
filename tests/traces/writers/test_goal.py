"""Statements as LogGOPSim reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.writers.goal import write_goal


def test_a_chain_with_an_exchange(tmp_path: Path) -> None:
    """Both halves come after the computation, what follows comes after both."""
    table = event_table(
        3,
        start_ns=[10, 10, 90],
        duration_ns=[60, 60, 5],
        rank=0,
        kind=[Kind.SEND, Kind.RECV, Kind.SEND],
        peer=0,
        tag=[1, 2, 3],
        size_bytes=[4, 5, 6],
        corr=[7, 7, -1],
        flags=[Flag.PAIRED, Flag.PAIRED, 0],
    )
    write_goal(table, tmp_path / "x.goal")
    assert (tmp_path / "x.goal").read_text().splitlines()[2:] == [
        "rank 0 {", "c0: calc 10", "m0: send 4b to 0 tag 1", "m0 requires c0", "m1: recv 5b from 0 tag 2", "m1 requires c0",
        "c2: calc 20", "c2 requires m1", "c2 requires m0", "m2: send 6b to 0 tag 3", "m2 requires c2", "}",
    ]  # fmt: skip


def test_collective_operations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="GOAL has none"):
        write_goal(event_table(1, rank=0, kind=Kind.COLL), tmp_path / "x.goal")
