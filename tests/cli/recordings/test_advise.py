"""``mlperf record advise`` and ``workers``."""

from __future__ import annotations

import json
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


def test_a_table_a_figure_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = trace_with_steps(tmp_path)
    words = ("--workers", "1,2,4", "--cores", "2,4", "--batch", "32", "--devices", "8")
    assert run_record("workers", given, *words, "--plot", tmp_path / "workers.svg") == 0
    told = capsys.readouterr().out
    assert "of 8 devices" in told
    assert "A worker's batch" in told
    assert (tmp_path / "workers.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert run_record("workers", given, *words, "--synthetic", given, "--json") == 0
    plan = json.loads(capsys.readouterr().out)["result"]["plan"]
    assert len(plan["rows"]) == 6
    assert "samples_per_s" in plan["columns"]


def test_workers_without_steps_are_told_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_record("workers", trace_without_steps(tmp_path)) == 3
    assert "no steps found" in capsys.readouterr().err


def test_storage_needs_both_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = trace_with_steps(tmp_path)
    assert run_record("workers", given, "--storage", "1e8") == 2
    assert "expected both or none" in capsys.readouterr().err
    assert run_record("workers", given, "--storage", "1e8", "--batch-bytes", "2e7", "--json") == 0
    plan = json.loads(capsys.readouterr().out)["result"]["plan"]
    assert min(row[plan["columns"].index("step_s")] for row in plan["rows"]) >= 0.2
