"""Regions marked from Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlperf.traces.recording import regions


@pytest.fixture
def told() -> Iterator[list[str]]:
    """What a recorder is told."""
    said: list[str] = []
    mark = (lambda name: said.append(f"begin {name}"), lambda name: said.append(f"end {name}"))
    regions.marks.append(mark)
    yield said
    regions.marks.remove(mark)


def test_the_recorder_is_told_of_begin_and_end(told: list[str]) -> None:
    with pytest.raises(RuntimeError), regions.region("outer"), regions.region():
        raise RuntimeError
    assert told == ["begin outer", "begin PRGN", "end PRGN", "end outer"]


def test_without_a_recorder_nothing_happens() -> None:
    assert not regions.recorder_is_loaded()
    with regions.region("alone"):
        pass
