"""Steps in words, tables and a figure."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_recordings import MS, Made

from mlperf.report.recordings.steps import steps_answer, steps_figure, steps_sections
from mlperf.traces.whole_run.steps import RunSteps, find_steps


@pytest.fixture
def found(made: Callable[[], Made]) -> RunSteps:
    maker, at = made(), 0
    for _ in range(8):
        at = maker.marks(at, {"load": 30 * MS, "forward": 70 * MS})
    return find_steps(maker.recording())


def test_the_largest_parts_come_first(found: RunSteps) -> None:
    told = str(steps_answer(found))
    assert "8 steps by marks of the program" in told
    assert "100 ms a step without the first: 70" in told
    assert told.index("forward") < told.index("load")


def test_phases_then_processor_then_every_step(found: RunSteps) -> None:
    phases, work, every, _ = steps_sections(found)
    assert phases.frame["load_s"].tolist() == pytest.approx([0.03])
    assert "cpu_s" in work.frame
    assert len(every.frame) == 8


def test_the_figure_stacks_the_phases(found: RunSteps) -> None:
    (axes,) = steps_figure(found).axes
    assert axes.get_ylabel() == "time (ms)"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["load", "forward", "other"]
    assert len(axes.patches) == 3 * 8
