"""Which steps are taken, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiled_ranks import write_job

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.steps import steps_of_ranks


def test_marks_come_first_then_what_is_asked_for(tmp_path: Path) -> None:
    write_job(tmp_path)
    table = read_chrome(tmp_path)
    marked, notes = steps_of_ranks(table)
    assert [len(each) for each in marked] == [4, 4, 4]
    assert notes == []
    assert [len(each) for each in steps_of_ranks(table, whole=True)[0]] == [1, 1, 1]


def test_what_cannot_be(tmp_path: Path) -> None:
    write_job(tmp_path)
    table = read_chrome(tmp_path)
    with pytest.raises(UsageError, match="expected one"):
        steps_of_ranks(table, marker="a", whole=True)
    with pytest.raises(DataError, match="rank 0 has no mark that fits 'train'"):
        steps_of_ranks(table, marker="train")
