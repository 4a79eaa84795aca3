"""One series in small: measured, recorded and predicted; and what the program is asked for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.studies.case_studies.campaign import CaseRuns, bound_to, series_rows
from mlperf.studies.case_studies.protocol import read_case_protocol

TESTS = Path(__file__).parents[2]
PROGRAM = TESTS.parent / "examples" / "whole_run" / "train.py"
READ = read_case_protocol(TESTS / "acceptance" / "case_studies.toml")
PROTOCOL = replace(READ, program=replace(READ.program, steps=10))
CORES = tuple(sorted(os.sched_getaffinity(0)))


def runs(name: str, **others: object) -> CaseRuns:
    return CaseRuns(PROTOCOL, PROGRAM, replace(PROTOCOL.series[name], **others), 0, CORES)


@pytest.mark.slow
def test_one_worker_predicts_two() -> None:
    rows = series_rows(runs("storage", workers=2))
    assert [(row["recorded_workers"], row["n_workers"]) for row in rows] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    first = rows[0]
    assert first["hint"] == "input"
    assert 0.08 < first["step_s"] == pytest.approx(first["logged_s"], rel=0.1)
    assert 0.04 < rows[1]["step_s"] < first["step_s"] < first["step_upper_s"]
    assert 0 < first["synthetic_s"] < first["measured_s"]


def test_commands(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    words = runs("decoding-vectors").command(3, log)
    assert words[words.index("--fault") + 1 :] == ["scalar-decode", "--workers", "3", "--mended"]
    words = runs("decoding").command(0, log, synthetic=True)
    assert words[-2:] == ["--input", "synthetic"]
    assert "--fault" not in words


def test_bound_to_some_cores_and_free_again() -> None:
    with bound_to(CORES[:1]):
        assert os.sched_getaffinity(0) == {CORES[0]}
    assert os.sched_getaffinity(0) == set(CORES)
