"""Ranks of a job, however they lie in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiles import training_job
from same import assert_same

from mlperf.core.errors import UsageError
from mlperf.traces.readers.chrome.job import read_job


def test_a_folder_its_files_and_given_ranks_are_one_job(tmp_path: Path) -> None:
    folder, _ = training_job(tmp_path / "job", [[10.0, 30.0, 20.0]])
    files = sorted(folder.iterdir())
    assert_same(read_job([folder]), read_job(files))
    assert_same(read_job(files), read_job(files, [0, 1, 2]))
    with pytest.raises(UsageError, match="is no trace of one rank"):
        read_job([folder, files[0]])
