"""Logs of runs, and programs that fail; runs with a recorder: see `test_campaign`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mlperf.core.errors import InterruptedRun
from mlperf.studies.planted_faults.one_run import log_of, plain_run, recorded

pytestmark = pytest.mark.slow

PROGRAM = "import json, sys; json.dump({'step_s': [0.1, 0.2]}, open(sys.argv[1], 'w'))"


def test_ranks_are_averaged_by_step(tmp_path: Path) -> None:
    for rank, times in enumerate(([0.1, 0.2], [0.3, 0.2])):
        (tmp_path / f"mended-{rank}.json").write_text(json.dumps({"step_s": times}))
    assert log_of(tmp_path, "mended") == pytest.approx([0.2, 0.2])


def test_a_run_without_a_recorder_is_given_no_variables_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLPERF_MARKS", "x")
    program = PROGRAM + "; import os; assert 'MLPERF_MARKS' not in os.environ"
    assert plain_run([sys.executable, "-c", program, str(tmp_path / "mended.json")], tmp_path) == [0.1, 0.2]


def test_programs_that_fail_or_are_none(tmp_path: Path) -> None:
    with pytest.raises(InterruptedRun, match="is no program"):
        plain_run(["no-such-program"], tmp_path)
    with pytest.raises(InterruptedRun, match="ended with 3"):
        recorded([sys.executable, "-c", "raise SystemExit(3)"], tmp_path)
