"""How a written report is shown."""

from __future__ import annotations

from pathlib import Path

from page_recordings import everything

from mlperf.report.recordings.page.report import ReportPlaces, write_report
from mlperf.report.text.views import result_answer, result_text


def test_files_by_kind_and_what_is_missing(tmp_path: Path) -> None:
    found = write_report(everything(), ReportPlaces(tmp_path / "run.html", flames=tmp_path / "stacks"))
    assert result_answer(found).endswith("more files written")
    assert "run.html" in result_answer(found)
    shown = result_text(found, everything=False)
    assert "folded stacks" in shown
    assert "Not in the report" not in shown
    assert str(tmp_path / "stacks") in result_text(found)
