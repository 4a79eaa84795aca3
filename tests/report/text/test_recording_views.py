from __future__ import annotations

from mlperf.cli.recordings.group import COMMANDS
from mlperf.report.text.recording_views import RECORDINGS
from mlperf.report.text.registry import RESULTS


def test_every_command_on_recordings_has_a_view_that_says_something_first() -> None:
    commands = {"record", "compare-runs", *(f"record {name}" for name in COMMANDS)}
    assert set(RECORDINGS) == commands
    assert all(view.answer and view.sections for classes in RECORDINGS.values() for view in classes.values())


def test_the_registry_holds_them() -> None:
    assert all(RESULTS[command] is classes for command, classes in RECORDINGS.items())
