"""Rows made by hand, judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.planted_faults.judgement import judge_faults
from mlperf.studies.planted_faults.protocol import FaultLimits, FaultProtocol, RanksSettings, RingSettings

PROTOCOL = FaultProtocol(
    2,
    10,
    {"none": "", "lock": "lock contention"},
    RanksSettings(2, 8, 8, 1.0),
    RingSettings(3, 10, 64, 1.0, "0,1"),
    FaultLimits(0.2, 0.02, 0.05, 0.05, 0.05, 1000),
)
ROW = {
    "n_steps": 10,
    "n_logged": 10,
    "step_s": 0.1,
    "logged_s": 0.1,
    "mended_s": 0.1,
    "unexplained_share": 0.01,
    "cpu_s": 2.0,
    "sampled_cpu_s": 2.02,
    "clock_uncertainty_ns": 50,
    "cause": "",
    "saved_s": 0.0,
    "saved_lower_s": 0.0,
    "saved_upper_s": 0.0,
    "naive_s": 0.0,
    "said": [],
}
LOCKED = {
    **ROW,
    "mended_s": 0.06,
    "cause": "lock contention",
    "saved_s": 0.044,
    "saved_lower_s": 0.035,
    "saved_upper_s": 0.05,
    "naive_s": 0.08,
}


def write(folder: Path, **changes: object) -> Path:
    rows = [{"run": name, "repeat": number, **row} for number in (0, 1) for name, row in (("none", ROW), ("lock", LOCKED))]
    rows[-1] |= changes
    (folder / "runs.json").write_text(json.dumps({"rows": rows}))
    return folder


def test_all_gates_are_met(tmp_path: Path) -> None:
    found = judge_faults(PROTOCOL, write(tmp_path))
    assert found.gates["met"].all()
    lock = found.faults.set_index("run").loc["lock"]
    assert (lock["named_first"], lock["n"]) == (2, 2)
    assert lock["measured_s"] == pytest.approx(0.04)
    assert lock["error"] == pytest.approx(0.1)
    assert lock["naive_error"] == pytest.approx(1.0)
    assert lock["covered"] == 1.0


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"cause": "input"}, [0]),
        ({"n_steps": 9}, [3]),
        ({"logged_s": 0.2}, [4]),
        ({"unexplained_share": 0.2}, [5]),
        ({"clock_uncertainty_ns": 10**7}, [8]),
    ],
)
def test_a_missed_gate_is_seen(tmp_path: Path, changes: dict, missed: list[int]) -> None:
    gates = judge_faults(PROTOCOL, write(tmp_path, **changes)).gates
    assert gates.index[~gates["met"]].tolist() == missed


def test_a_hint_in_a_clean_run_is_seen(tmp_path: Path) -> None:
    kept = json.loads((write(tmp_path) / "runs.json").read_text())
    kept["rows"][0]["cause"] = "input"
    (tmp_path / "runs.json").write_text(json.dumps(kept))
    gates = judge_faults(PROTOCOL, tmp_path).gates
    assert gates.index[~gates["met"]].tolist() == [1]


def test_a_missing_repeat_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no runs"):
        judge_faults(PROTOCOL, tmp_path)
    write(tmp_path, repeat=0)
    with pytest.raises(DataError, match="lock: got 1 repeats, expected 2"):
        judge_faults(PROTOCOL, tmp_path)


def test_runs_in_cpp_that_nobody_made_are_said(tmp_path: Path) -> None:
    wider = replace(PROTOCOL, causes={**PROTOCOL.causes, "cpp-none": "", "cpp-lock": "lock contention"})
    assert judge_faults(wider, write(tmp_path)).not_run == ("cpp-none", "cpp-lock")


def test_rings_that_nobody_ran_yet_are_said(tmp_path: Path) -> None:
    causes = {**PROTOCOL.causes, "ring-none": "", "ring-order": "ring order"}
    wider = replace(PROTOCOL, causes=causes)
    found = judge_faults(wider, write(tmp_path))
    assert found.not_run == ("ring-none", "ring-order")
    assert found.gates["met"].all()
    kept = json.loads((tmp_path / "runs.json").read_text())
    kept["rows"] += [{**LOCKED, "run": "ring-order", "repeat": repeat, "cause": "ring order"} for repeat in (0, 1)]
    kept["rows"] += [{**ROW, "run": "ring-none", "repeat": repeat, "cause": "ring order"} for repeat in (0, 1)]
    (tmp_path / "runs.json").write_text(json.dumps(kept))
    found = judge_faults(wider, tmp_path)
    assert found.not_run == ()
    assert found.faults.set_index("run").loc["ring-order", "named_first"] == 2
    # A hint in a run over the best ring is a false alarm.
    assert found.gates.loc[~found.gates["met"], "value"].tolist() == [2.0]
