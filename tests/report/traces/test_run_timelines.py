"""The drawing of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from stepped_programs import N_RANKS, binary_swap, myrinet

from mlperf.report.traces.run_timelines import timeline_answer, timeline_figure, timeline_sections, write_timeline_page
from mlperf.traces.replay import replay
from mlperf.traces.whatif.grammar import read_edit
from mlperf.traces.whatif.timeline import RunTimeline, run_timeline


def drawn(*assumptions: str) -> RunTimeline:
    run = replay(binary_swap(), myrinet())
    return run_timeline(run, [read_edit(text, run.timing) for text in assumptions])


def test_two_panels_share_one_axis() -> None:
    """The second ends earlier, on the same scale."""
    figure = timeline_figure(drawn("balance(step=1)"))
    first, second = figure.axes
    assert second.get_xlabel().startswith("time (")
    assert first.get_xlim() == second.get_xlim()
    assert first.get_ylim() == pytest.approx((N_RANKS - 0.4, -0.6))
    ends = [max(patch.get_x() + patch.get_width() for patch in axes.patches) for axes in (first, second)]
    assert ends[1] < ends[0]
    assert [text.get_text() for text in first.texts] == ["1"]


def test_one_run_is_one_panel() -> None:
    assert len(timeline_figure(drawn()).axes) == 1
    assert "replayed in" in timeline_answer(drawn()).text()


def test_the_page_holds_drawing_and_tables(tmp_path: Path) -> None:
    found = drawn("balance(step=1)")
    write_timeline_page(found, tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "balance(step=1)" in text
    assert "A4(1)" in text
    assert len(timeline_sections(found)) == 4
