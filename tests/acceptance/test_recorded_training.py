"""Real training recorded: steps found against what the trainers themselves have written down."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from mlperf.collect.trainer.records import stored_records
from mlperf.traces.whole_run.read import read_recording
from mlperf.traces.whole_run.request import RunRequest
from mlperf.traces.whole_run.run import record_run
from mlperf.traces.whole_run.steps import RunSteps, find_steps

STEP = 0.02
PARTS = 0.05


def recorded(folder: Path, *words: str) -> RunSteps:
    """Steps of a recorded ``mlperf collect``."""
    command = (sys.executable, "-m", "mlperf", "collect", *words)
    document = record_run(RunRequest(command, folder / "recording", ("marks", "python", "tree"), memory=False))
    assert document["command_exit_code"] == 0
    return find_steps(read_recording(folder / "recording"))


def share_of_other(found: RunSteps) -> float:
    """What no phase explains, and that parts add up at all."""
    parts = found.steps[[*(f"{name}_s" for name in found.phases), "other_s"]]
    assert parts.sum(axis=1).to_numpy() == pytest.approx(found.steps["step_s"].to_numpy(), rel=1e-6)
    return float(found.steps["other_s"].sum() / found.steps["step_s"].sum())


@pytest.mark.slow
def test_synchronous_training(tmp_path: Path) -> None:
    words = ("--processes", "2", "--subbatch", "16", "--seconds", "0.5", "--repeats", "1", "--exchange-bytes", "4096")
    found = recorded(tmp_path, "ddp", "-o", str(tmp_path / "runs"), *words, "--wait", "never")
    told = pd.read_csv(tmp_path / "runs" / "runs.csv").iloc[0]
    assert found.summary["rank"].tolist() == [0, 1]
    assert found.steps.groupby("rank").size().tolist() == [told["n_steps"]] * 2
    assert found.steps["step_s"].mean() == pytest.approx(told["step_s"], rel=STEP)
    assert {"input", "forward", "backward", "exchange", "update"} <= set(found.phases)
    assert share_of_other(found) < PARTS


@pytest.mark.slow
def test_asynchronous_training(tmp_path: Path) -> None:
    """Algorithm 1 of SPRINT: iterations of the first worker of each node are its steps, locks and waits are phases."""
    words = ("--nodes", "2", "--gpus-per-node", "2", "--subbatch", "8", "--repeats", "1", "--epochs", "0", "--updates", "40")
    found = recorded(tmp_path, "asgd", "-o", str(tmp_path / "runs"), *words)
    gpu = stored_records(tmp_path / "runs" / "asgd" / "run-0001").gpu
    first = gpu[gpu["gpu"] == 0]
    assert found.steps.groupby("rank").size().tolist() == first.groupby("node").size().tolist()
    for phase in ("compute_gradient", "load_image", "update_gradient"):
        assert found.steps[f"{phase}_s"].sum() == pytest.approx(first[f"{phase}_s"].sum(), rel=STEP)
    assert share_of_other(found) < PARTS
