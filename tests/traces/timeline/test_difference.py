"""Two jobs that differ in what is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiled_ranks import STEADY, write_job

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.difference import difference


def test_what_became_slower_is_named(tmp_path: Path) -> None:
    """The same job with twice the computation, and nothing else."""
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, factor in zip(folders, (1, 2), strict=True):
        folder.mkdir()
        write_job(folder, [[factor * each for each in work] for work in STEADY])
    found = difference(*(read_chrome(folder) for folder in folders))
    kernels = found.groups.set_index("what").loc["kernels"]
    assert (kernels["n_first"], kernels["n_second"], kernels["count_ratio"]) == (12, 12, 1.0)
    assert kernels["time_ratio"] == pytest.approx(2.0)
    name = found.names.set_index("name").loc["sgemm_128x64"]
    assert name["change_s"] == pytest.approx(sum(map(sum, STEADY)) * 1e-6)
    assert (found.n_ranks, found.n_steps) == ((3, 3), (4, 4))


def test_a_trace_does_not_differ_from_itself(tmp_path: Path) -> None:
    write_job(tmp_path)
    found = difference(read_chrome(tmp_path), read_chrome(tmp_path))
    assert (found.groups["count_ratio"] == 1.0).all()
    assert (found.groups["time_first_s"] == found.groups["time_second_s"]).all()
