"""What of a run is recorded: regions, passes, and what the program switches off."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.traces.readers.rank_file import POSTED, read_rank_file
from mlperf.traces.recording.rank_writer import RankWriter
from mlperf.traces.recording.selection import Selection, selection_from

CASES = (
    ({}, "outer inner inner"),
    ({"MLPERF_RECORD_REGION": "inner"}, "inner inner"),
    ({"MLPERF_RECORD_REGION": "inner", "MLPERF_RECORD_ITERATIONS": "1:2"}, "inner"),
    ({"MLPERF_RECORD_REGION": "inner", "MLPERF_RECORD_ITERATIONS": "1"}, "inner"),
    ({"MLPERF_RECORD_ITERATIONS": "0:"}, "outer inner inner"),
    ({"MLPERF_RECORD_ITERATIONS": "1:"}, ""),
    ({"MLPERF_RECORD_PAUSED": "1"}, ""),
)


@pytest.mark.parametrize(("environment", "recorded"), CASES)
def test_passes_that_are_recorded(environment: dict[str, str], recorded: str, tmp_path: Path) -> None:
    selection, writer = selection_from(environment), RankWriter(tmp_path, 0, 1)
    selection.begin(writer, "outer", 1, 0)
    for start in (2, 4):
        selection.begin(writer, "inner", start, 0)
        selection.end(writer, "inner", start + 1)
    selection.end(writer, "", 9)
    writer.close(selection.n_wrong_ends)
    found = read_rank_file(tmp_path / "rank-00000.mlr")
    names = [found.strings[int(row["name"])] for row in found.events if not row["flags"] & POSTED]
    assert " ".join(names) == recorded
    assert found.events["end_ns"].tolist() == [9, 3, 5]
    assert found.n_wrong_ends == 0


def test_ends_that_are_out_of_order(tmp_path: Path) -> None:
    selection, writer = Selection(), RankWriter(tmp_path, 0, 1)
    selection.end(writer, "never", 1)
    selection.begin(writer, "outer", 2, 0)
    selection.begin(writer, "inner", 3, 0)
    selection.end(writer, "other", 4)
    selection.end(writer, "outer", 5)
    selection.begin(writer, "last", 6, 0)
    selection.end_all(writer, 7)
    writer.close(selection.n_wrong_ends)
    found = read_rank_file(tmp_path / "rank-00000.mlr")
    assert found.events["end_ns"].tolist() == [5, 5, 7]
    assert found.n_wrong_ends == 3
