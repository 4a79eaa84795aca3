"""What a recorded run says first, and what of it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from made_recordings import MS, Made
from page_recordings import everything

from mlperf.report.recordings.page.report import ReportPlaces, write_report
from mlperf.report.recordings.recorded import (
    probed_answer,
    probed_sections,
    recorded_answer,
    recorded_sections,
    run_table_answer,
    run_table_sections,
)
from mlperf.report.text.views import result_answer, result_text
from mlperf.traces.run_table import run_table
from mlperf.traces.whole_run.probed import Probed
from mlperf.traces.whole_run.recorded import RecordedRun
from mlperf.traces.whole_run.steps import find_steps

SOURCES = pd.DataFrame([["marks", "ok", "", "", 0.0, 10]], columns=["source", "status", "reason", "hint", "cpu_s", "size_bytes"])
FOUND = RecordedRun("run", "python x.py", 0, False, 2.0, 3.0, float("nan"), 0.1, 1234, 5, 60, SOURCES, ("a note",))


def test_the_first_line() -> None:
    told = str(recorded_answer(FOUND))
    assert "python x.py (exit code 0)" in told
    assert "1,234 events" in told


def test_sections_hold_sources_and_costs() -> None:
    sources, run, notes = recorded_sections(FOUND)
    assert sources.frame is SOURCES
    assert "no samples" in run.frame["value"].tolist()
    assert any("100 ms (5.00 % of one core)" in value for value in run.frame["value"])
    short = recorded_sections(replace(FOUND, wall_s=0.001))[1].frame
    assert any("100 ms (longer than the command)" in value for value in short["value"])
    assert notes.text == "A note."


@pytest.mark.parametrize(("status", "n"), [("ok", 1), ("absent", 0)])
def test_what_a_machine_offers(status: str, n: int) -> None:
    columns = ["source", "status", "by_default", "about", "reason", "hint"]
    found = Probed(pd.DataFrame([["perf", status, True, "samples", "why", "install"]], columns=columns))
    assert f"{n} of 1 source" in str(probed_answer(found))
    assert probed_sections(found)[1].frame["hint"].tolist() == ["install"]


def test_files_by_kind_and_what_is_missing(tmp_path: Path) -> None:
    found = write_report(everything(), ReportPlaces(tmp_path / "run.html", flames=tmp_path / "stacks"))
    assert result_answer(found).endswith("more files written")
    assert "run.html" in result_answer(found)
    shown = result_text(found, everything=False)
    assert "folded stacks" in shown
    assert "Not in the report" not in shown
    assert str(tmp_path / "stacks") in result_text(found)


def test_runs_and_their_steps(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(5):
        at = maker.marks(at, {"load": 40 * MS, "forward": 60 * MS})
    recording = maker.recording()
    found = run_table({"a": (recording, find_steps(recording))})
    told = str(run_table_answer(found))
    assert "1 run of steps of 100 ms" in told
    assert "not written" in told
    assert run_table_sections(found)[0].frame is found.table
