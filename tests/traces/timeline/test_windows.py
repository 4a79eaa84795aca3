"""Steps by marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiled_ranks import write_job

from mlperf.core.errors import DataError
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.windows import marked_steps, whole_recording


def test_a_step_lasts_to_the_next_mark(tmp_path: Path) -> None:
    """Steps take 40 + 900 (920) + 2 + 30 + 10 us."""
    write_job(tmp_path)
    found = marked_steps(read_chrome(tmp_path), 1)
    assert found is not None
    assert found.number.tolist() == [0, 1, 2, 3]
    assert (found.end_ns - found.start_ns).tolist() == [982_000, 982_000, 1_002_000, 982_000]
    assert found.origin == "marks on the host"


def test_other_marks_by_their_names(tmp_path: Path) -> None:
    write_job(tmp_path)
    table = read_chrome(tmp_path)
    found = marked_steps(table, 0, r"aten::(\w+)")
    assert found is not None
    assert found.number.tolist() == [0, 1, 2, 3]
    assert marked_steps(table, 0, "nothing") is None
    with pytest.raises(DataError, match="expected a regular expression"):
        marked_steps(table, 0, "(")


def test_the_whole_recording_is_one_step(tmp_path: Path) -> None:
    write_job(tmp_path)
    found = whole_recording(read_chrome(tmp_path), 2)
    assert (found.end_ns - found.start_ns).tolist() == [3 * 982_000 + 1_002_000]
    with pytest.raises(DataError, match="rank 9 has no events"):
        whole_recording(read_chrome(tmp_path), 9)
