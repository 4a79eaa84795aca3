"""What all wrapped communicators of a rank share, by the files that real ranks left."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.traces.readers.rank_file import BRACKET, TRIP
from mlperf.traces.readers.recorded import read_rank_files

from .conftest import N_RANKS, proxied

pytestmark = pytest.mark.slow


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
