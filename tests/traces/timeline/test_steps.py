"""Steps of all ranks, in whatever way they are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiles import step, training_job, write

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.steps import steps_of_ranks


def test_every_rank_has_its_steps(tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 20.0]] * 3)[0])
    found, notes = steps_of_ranks(table)
    assert [(each.rank, len(each)) for each in found] == [(0, 3), (1, 3)]
    assert not notes
    assert [len(each) for each in steps_of_ranks(table, whole=True)[0]] == [1, 1]


def test_unmarked_steps_are_found_by_what_repeats(tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 20.0]] * 5)[0])
    found, notes = steps_of_ranks(table, level=0)
    assert [len(each) for each in found] == [5, 5]
    assert notes[0].startswith("rank 0 marks no steps: 5 times 2 events repeat")


def test_a_trace_without_events_says_what_was_left_out(tmp_path: Path) -> None:
    """Microseconds since 1970 that were taken for milliseconds: no clock shows them."""
    table = read_chrome(write(tmp_path / "a.json", [step(1, 1.7e22, 5)], 0))
    with pytest.raises(DataError, match="no event of a rank") as caught:
        steps_of_ranks(table)
    assert caught.value.hint == "1 event without a time is left out."


def test_wrong_wishes(tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 20.0]])[0])
    with pytest.raises(UsageError):
        steps_of_ranks(table, level=0, whole=True)
    with pytest.raises(DataError, match="no mark"):
        steps_of_ranks(table, marker="nothing")
    with pytest.raises(DataError, match="no event of a rank"):
        steps_of_ranks(table.take(table.rank == 9))
