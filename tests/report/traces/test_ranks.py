"""What is told and drawn of training ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiled_ranks import write_job

from mlperf.report.traces.ranks import (
    difference_answer,
    difference_sections,
    ranks_answer,
    ranks_figure,
    ranks_sections,
    sentences,
    steps_answer,
    steps_figure,
    steps_sections,
)
from mlperf.traces.events.table import EventTable
from mlperf.traces.ranks.profiled.analysis import analyse_ranks
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.decomposition import decompose
from mlperf.traces.timeline.difference import difference
from mlperf.traces.timeline.steps import steps_of_ranks


@pytest.fixture
def table(tmp_path: Path) -> EventTable:
    write_job(tmp_path)
    return read_chrome(tmp_path)


def test_ranks_are_told_by_who_comes_last(table: EventTable) -> None:
    found = analyse_ranks(table)
    assert "rank 2 comes last" in ranks_answer(found).text()
    assert any(section.frame is not None and "late_s" in section.frame for section in ranks_sections(found))
    assert ranks_figure(found).axes


def test_steps_are_told_by_their_parts(table: EventTable) -> None:
    found = decompose(table, steps_of_ranks(table)[0])
    assert "computation" in steps_answer(found).text()
    assert any(section.title == "Where the time of a step goes" for section in steps_sections(found))
    assert steps_figure(found).axes


def test_differences_are_told_in_words(table: EventTable) -> None:
    found = difference(table, table)
    assert difference_answer(found).text()
    assert difference_sections(found)


def test_notes_are_sentences() -> None:
    assert sentences(("one thing", "Another thing")) == ["One thing.", "Another thing."]
