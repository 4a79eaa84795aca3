from __future__ import annotations

from pathlib import Path

import pytest
from profiles import training_job

from mlperf.cli.recordings.given import read_given
from mlperf.core.errors import DataError
from mlperf.traces.readers.registry import read_trace


def test_a_trace_is_a_recording_without_series_as_long_as_its_events(tmp_path: Path) -> None:
    trace = sorted(training_job(tmp_path / "job", [[40.0, 90.0]] * 6)[0].iterdir())[0]
    found, events = read_given(trace), read_trace(trace, drop_unmatched=True)
    assert len(found.events) == len(events)
    assert (found.start_ns, found.end_ns) == (events.start_ns.min(), events.end_ns.max())
    assert len(found.counters) == 0
    assert found.folder == trace


def test_a_folder_of_recordings_is_none(tmp_path: Path) -> None:
    """What is in it is named, and not the other command that records messages."""
    with pytest.raises(DataError, match=r"neither recording.json nor a trace(?s:.*)mlperf record -o DIR"):
        read_given(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recording.json").write_text("{}")
    with pytest.raises(DataError, match="Name one of the recordings in it: run"):
        read_given(tmp_path)


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.json"):
        read_given(tmp_path / "nothing.json")
