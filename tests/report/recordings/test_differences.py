"""What is told of the difference of two recorded runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.report.recordings.differences import difference_answer, difference_figure, difference_sections
from mlperf.traces.whole_run.difference import RunDifference, run_difference
from mlperf.traces.whole_run.recording import Recording


def run(load_ms: int, extra: str = "") -> Recording:
    maker = Made()
    at = 0
    for number in range(12):
        load = (load_ms + number % 2) * MS
        maker.marks(at, {"load": load, "forward": 50 * MS})
        maker.samples(at, at + load, "jpeg_decode", every_ns=MS)
        maker.samples(at + load, at + load + 50 * MS, extra or "sgemm", every_ns=MS)
        at += load + 50 * MS
    return maker.recording()


@pytest.fixture
def found() -> RunDifference:
    return run_difference(run(50), run(20, "tokenize"))


def test_the_answer_tells_speeds_with_an_interval_and_what_changed(found: RunDifference) -> None:
    told = difference_answer(found).found
    assert told.startswith("1.43 times the steps a second (95 %: 1.42 to 1.43), faster; ")
    assert "gemm vanished (50.0 ms)" in told
    assert "tokenize appeared (50.0 ms)" in told


def test_without_steps_only_swarms_are_told() -> None:
    maker = Made()
    maker.samples(0, 30 * MS, "sgemm", every_ns=MS)
    found = run_difference(maker.recording(), run(50))
    told = difference_answer(found).found
    assert "steps a second" not in told
    assert told.startswith("decode appeared")


def test_sections_hold_speeds_parts_and_swarms(found: RunDifference) -> None:
    titles = [each.title for each in difference_sections(found) if each.title]
    assert titles == ["Steps", "Parts of a step", "Swarms, the largest change first", "Functions, the largest change first"]


def test_bars_are_times_before_and_after(found: RunDifference) -> None:
    axes = difference_figure(found).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    widths = np.array([patch.get_width() for patch in axes.patches]).reshape(2, len(names))
    place = names.index("decode")
    np.testing.assert_allclose(widths[:, place], found.swarms.loc[place, ["time_first_s", "time_second_s"]].to_numpy(float) * 1e3)
    assert axes.get_xlabel() == "time in a step (ms)"
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert told == [f"{which}: {source}" for which, source in zip(("first", "second"), found.sources, strict=True)]


def test_long_names_leave_room_for_bars(found: RunDifference) -> None:
    far = replace(found, sources=("/a/folder/far/away/" * 9 + "a.json", "/a/folder/far/away/" * 9 + "b.json"))
    figure = difference_figure(far)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_window_extent().width > 0.4 * figure.bbox.width
    assert [text.get_text()[-6:] for text in axes.get_legend().get_texts()] == ["a.json", "b.json"]
