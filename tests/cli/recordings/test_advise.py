"""``mlperf record advise`` on a trace file in the place of a recording, and where it has no steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_commands import run_record, trace_with_steps, trace_without_steps


def test_a_trace_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_record("advise", trace_with_steps(tmp_path)) == 0
    told = capsys.readouterr()
    assert "input (load)" in told.out
    assert "mlperf record workers" in told.err


def test_without_steps_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_record("advise", trace_without_steps(tmp_path)) == 3
    assert "no steps found" in capsys.readouterr().err
