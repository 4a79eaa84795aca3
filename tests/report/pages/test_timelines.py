"""The picture of a timeline: what is drawn, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from mlperf.core.errors import UsageError
from mlperf.report.pages.timelines import LOOKS, MOST_LANES, timeline_figure, write_timeline
from mlperf.report.text.views import result_text
from mlperf.traces.timeline import ThreadTimeline, summarise
from mlperf.traces.timeline.lanes import COLUMNS, LOCK_WAITS, UPDATE

PARTS = (("fetch_weights", 0.1), ("compute_gradient", 1.0), ("lock_gradient_gpu", 0.2), ("update_gradient", 0.1))
UPDATES = (("lock_gradient_update", 0.002), ("sum_gradient", 0.2), ("barrier", 0.1), ("allreduce", 0.3), ("update_weights", 0.1))


def lane(node: int, thread: int, parts: tuple[tuple[str, float], ...], turns: int) -> list[tuple[object, ...]]:
    rows, now = [], 0.0
    for turn in range(turns):
        for activity, seconds in parts:
            rows.append((node, thread, activity, now, now + seconds, turn, 0, turn))
            now += seconds
    return rows


def threads(n_nodes: int = 2, n_gpus: int = 2, turns: int = 9) -> ThreadTimeline:
    rows = [row for node in range(n_nodes) for gpu in range(n_gpus) for row in lane(node, gpu, PARTS, turns)]
    rows += [row for node in range(n_nodes) for row in lane(node, UPDATE, UPDATES, turns)]
    return ThreadTimeline("recorded", "emulated gradient", pd.DataFrame(rows, columns=list(COLUMNS)))


def n_bars(axes: object, labels: set[str]) -> int:
    """Bars whose legend label, hidden or not, is one of these."""
    named = [each for each in axes.collections if each.get_label().lstrip("_") in labels]  # type: ignore[attr-defined]
    return sum(len(each.get_paths()) for each in named)


def test_every_interval_in_the_window_is_a_bar() -> None:
    timeline = threads()
    window = (1.0, 3.0)
    axes = timeline_figure(timeline, window).axes[0]
    inside = timeline.within(*window).intervals
    assert n_bars(axes, {look.label for look in LOOKS.values()}) == len(inside)
    assert n_bars(axes, {LOOKS["lock_gradient_gpu"].label}) == inside["activity"].isin(LOCK_WAITS).sum() > 0
    assert axes.get_xlabel() == "time since the run's start (ms)"
    assert axes.get_xlim() == (1000.0, 3000.0)


def test_the_axis_counts_as_the_window_does() -> None:
    axes = timeline_figure(threads(), (1.0, 3.0)).axes[0]
    drawn = [
        path.get_extents()
        for each in axes.collections
        if each.get_label() in {look.label for look in LOOKS.values()}
        for path in each.get_paths()
    ]
    assert min(each.x0 for each in drawn) == 1000.0
    assert max(each.x1 for each in drawn) == 3000.0
    far = timeline_figure(threads(turns=900), (1000.1, 1000.2)).axes[0]
    far.figure.canvas.draw()
    assert far.xaxis.get_offset_text().get_text() == ""


def test_short_waits_for_locks_are_pointed_at() -> None:
    timeline = threads()
    axes = timeline_figure(timeline, (1.0, 3.0)).axes[0]
    (marks,) = [line for line in axes.lines if line.get_marker() == "v"]
    inside = timeline.within(1.0, 3.0).intervals
    assert len(marks.get_xdata()) == (inside["activity"] == "lock_gradient_update").sum()


def test_each_thread_has_a_lane_and_nodes_stay_whole() -> None:
    axes = timeline_figure(threads()).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["GPU 0", "GPU 1", "update"] * 2
    many = timeline_figure(threads(n_nodes=5, n_gpus=8)).axes[0]
    assert len(many.get_yticks()) == 18 <= MOST_LANES


def test_numbers_name_the_update_that_uses_a_gradient() -> None:
    axes = timeline_figure(threads(1, 1), (0.0, 2.9)).axes[0]
    assert [text.get_text() for text in axes.texts if text.get_text().isdigit()][:2] == ["0", "1"]


def test_the_ending_says_what_is_written(tmp_path: Path) -> None:
    timeline = threads()
    write_timeline(timeline, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
    write_timeline(timeline, tmp_path / "a.json")
    events = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == len(timeline.intervals)
    write_timeline(timeline, tmp_path / "b.json", (1.0, 2.0))
    assert (tmp_path / "b.json").stat().st_size < (tmp_path / "a.json").stat().st_size
    with pytest.raises(UsageError, match=r"expected one of .svg, .png, .pdf, .json"):
        write_timeline(timeline, tmp_path / "a.txt")


def test_the_summary_is_shown_with_mode_and_file() -> None:
    text = result_text(summarise(threads(), "threads.svg"))
    assert "emulated gradient" in text
    assert "threads.svg" in text
    assert "lock wait share" in text
