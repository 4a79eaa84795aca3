"""A table of runs in words."""

from __future__ import annotations

from collections.abc import Callable

from made_recordings import MS, Made

from mlperf.report.recordings.run_tables import run_table_answer, run_table_sections
from mlperf.traces.run_table import run_table
from mlperf.traces.whole_run.steps import find_steps


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
