"""Messages that ranks recorded themselves, read as a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.recording.rank_writer import RankWriter
from mlperf.traces.sources.mpi_ranks import MpiRanks


def test_ranks_are_told_where_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLPERF_RECORDER", raising=False)
    source = MpiRanks()
    assert source.prepare(tmp_path) == {"MLPERF_RECORD_DIR": str(tmp_path)}
    assert "--build" in source.probe().hint
    library = tmp_path / "library.so"
    library.touch()
    monkeypatch.setenv("MLPERF_RECORDER", str(library))
    assert source.prepare(tmp_path)["LD_PRELOAD"] == str(library)
    assert "PMPI" in source.probe().reason


def test_their_files_are_read(tmp_path: Path) -> None:
    source = MpiRanks()
    assert source.read(tmp_path).events is None
    for rank in (0, 1):
        RankWriter(tmp_path, rank, 2).close(0)
    found = source.read(tmp_path).events
    assert found is not None
    assert found.n_ranks == 2
    assert not (found.kind == Kind.SEND).any()
    source.follow(1)
    assert source.stop() == 0.0


def test_both_ends_of_a_message_are_joined(tmp_path: Path) -> None:
    for rank, kind in ((0, Kind.SEND), (1, Kind.RECV)):
        writer = RankWriter(tmp_path, rank, 2)
        writer.members(0, [0, 1])
        writer.event(kind, kind.name, 100, 200, size=64, peer=1 - rank, tag=3, comm=0, site=0)
        writer.close(0)
    found = MpiRanks().read(tmp_path).events
    assert found is not None
    sent = int((found.kind == Kind.SEND).argmax())
    assert found.kind[found.match[sent]] == Kind.RECV
