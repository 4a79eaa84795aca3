"""A report in all its forms."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_recordings import everything

from mlperf.core.errors import UsageError
from mlperf.report.recordings.page.report import ReportPlaces, write_report
from mlperf.traces.readers.registry import read_trace


def test_page_tables_stacks_and_trace(tmp_path: Path) -> None:
    recording = everything()
    places = ReportPlaces(tmp_path / "a.html", tmp_path / "tables", tmp_path / "stacks", tmp_path / "a.json.gz")
    found = write_report(recording, places)
    for row in found.files.to_dict("records"):
        assert Path(row["file"]).stat().st_size == row["size_bytes"] > 0
    assert set(found.files["what"]) == {"page", "table", "folded stacks", "Chrome trace"}
    # Perfetto's form, read back by the project's reader of it.
    again = read_trace(tmp_path / "a.json.gz")
    assert len(again) == len(recording.events)
    assert again.duration_ns.sum() == recording.events.duration_ns.sum()
    assert found.missing.empty


def test_only_what_is_asked_for_is_written(tmp_path: Path) -> None:
    write_report(everything(3), ReportPlaces(tables=tmp_path / "tables"))
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_nowhere_is_refused() -> None:
    with pytest.raises(UsageError, match="no place to write to"):
        ReportPlaces()
