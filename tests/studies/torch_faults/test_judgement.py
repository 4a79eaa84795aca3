"""Made rows of the PyTorch runs, right and wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.torch_faults.judgement import TorchJudgement, judge_torch_faults
from mlperf.studies.torch_faults.protocol import read_torch_protocol

PROTOCOL = read_torch_protocol(Path(__file__).parents[2] / "acceptance" / "torch_faults.toml")


def judged(tmp_path: Path, **changes: dict[str, Any]) -> TorchJudgement:
    rows = [
        {
            "run": name,
            "repeat": repeat,
            "cause": run.cause,
            "traceml": run.traceml[0],
            "step_s": 0.1,
            "logged_s": 0.1,
            "mended_s": 0.06,
            "saved_s": 0.044,
            "cpu_s": 4.0,
            "sampled_cpu_s": 3.9,
            "n_steps": 40,
            "n_logged": 40,
            "unexplained_share": 0.01,
            **(changes.get(name.replace("-", "_"), {}) if repeat == 0 else {}),
        }
        for name, run in PROTOCOL.runs.items()
        for repeat in range(PROTOCOL.repeats)
    ]
    (tmp_path / "runs.json").write_text(json.dumps({"rows": rows}))
    return judge_torch_faults(PROTOCOL, tmp_path)


def test_all_right(tmp_path: Path) -> None:
    found = judged(tmp_path)
    assert found.gates["met"].all()
    values = dict(zip(found.gates["gate"], found.gates["value"], strict=True))
    assert values["error of the predicted saving, median over faults"] == pytest.approx(0.1)
    assert values["processor time by samples, largest of the runs' medians"] == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("run", "change", "missed"),
    [
        (
            "lock",
            {"cause": "input"},
            ["planted faults that are not the first hint", "runs that TraceML judges right and the advice does not"],
        ),
        ("none", {"cause": "pause", "traceml": "INPUT-BOUND"}, ["hints in clean runs"]),
        ("memory", {"n_steps": 39}, ["steps found too many or too few"]),
        ("memory", {"logged_s": 0.09}, ["mean step against the program's log, largest"]),
    ],
)
def test_what_is_missed_is_said(tmp_path: Path, run: str, change: dict[str, Any], missed: list[str]) -> None:
    found = judged(tmp_path, **{run: change})
    assert found.gates[~found.gates["met"]]["gate"].tolist() == missed


def test_missing_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no runs"):
        judge_torch_faults(PROTOCOL, tmp_path)
    (tmp_path / "runs.json").write_text('{"rows": [{"run": "none", "repeat": 0}]}')
    with pytest.raises(DataError, match="none: got 1 repeats, expected 3"):
        judge_torch_faults(PROTOCOL, tmp_path)
