"""What all wrapped communicators of a rank share, by the files that real ranks left."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.traces.readers.rank_file import BRACKET, TRIP
from mlperf.traces.readers.recorded import read_rank_files
from mlperf.traces.recording.proxy_recorder import ProxyRecorder
from mlperf.traces.recording.rank_writer import RankWriter
from mlperf.traces.recording.regions import marks
from mlperf.traces.recording.selection import selection_from

from .conftest import N_RANKS, proxied


@pytest.mark.slow
def test_clocks_are_read_at_both_ends(tmp_path: Path) -> None:
    proxied(tmp_path / "run")
    for file in read_rank_files(tmp_path / "run"):
        brackets, trips = (file.clocks[file.clocks["tag"] == kind] for kind in (BRACKET, TRIP))
        assert brackets["count"].tolist() == [0, 1]
        assert trips["count"].tolist() == ([0, 1] if file.rank else [])
        # One machine has one monotonic clock: rank 0's reading lies between both of ours.
        assert (trips["start_ns"] <= trips["id"]).all()
        assert (trips["id"] <= trips["end_ns"]).all()
        assert file.comms[0] == tuple(range(N_RANKS))
        assert file.is_whole


def test_where_the_program_has_ended_mpi_nobody_is_asked_for_the_time(tmp_path: Path) -> None:
    """``MPI.Finalize()`` of the program's own comes before Python's end."""
    made = ProxyRecorder.__new__(ProxyRecorder)
    made.writer, made.selection = RankWriter(tmp_path, 0, 1), selection_from()
    made.mpi = type("Mpi", (), {"Is_finalized": staticmethod(lambda: True)})
    marks.append((made.begin, made.end))
    made.close()
    assert read_rank_files(tmp_path)[0].is_whole
