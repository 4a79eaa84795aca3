"""One run of a program that logs its own steps: with a recorder or without, and what is kept of it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.errors import InterruptedRun
from mlperf.planning.advice.advise import Advice
from mlperf.traces.whole_run.read import read_recording
from mlperf.traces.whole_run.recorded import recorded_run
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.request import RunRequest
from mlperf.traces.whole_run.run import record_run
from mlperf.traces.whole_run.steps import RunSteps

WARM_UP = 1


def recorded(command: Sequence[str], work: Path) -> Recording:
    """Record a run with the default sources."""
    with (work / "out.txt").open("wb") as out:
        document = record_run(RunRequest(tuple(command), work / "recording"), stdout=out)
    if document["command_exit_code"]:
        raise InterruptedRun(f"ended with {document['command_exit_code']}", place=shlex.join(command))
    return read_recording(work / "recording")


def plain_run(command: Sequence[str], work: Path) -> list[float]:
    """Steps of a run without a recorder, seconds."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MLPERF_")}
    if shutil.which(command[0]) is None:
        raise InterruptedRun("is no program", place=command[0])
    with (work / "out.txt").open("wb") as out:
        subprocess.run(command, env=environment, stdout=out, check=True)  # noqa: S603 - our own program
    return log_of(work, "mended")


def fault_and_mended(with_fault: Sequence[str], mended: Sequence[str], work: Path, repeat: int) -> tuple[Recording, list[float]]:
    """A recorded run, and the steps of one without recorder and fault, which comes first in every other repeat: drifts cancel."""
    before = plain_run(mended, work) if repeat % 2 == 1 else []
    recording = recorded(with_fault, work)
    return recording, before or plain_run(mended, work)


def log_of(work: Path, name: str) -> list[float]:
    """The program's own times of its steps; of several ranks the mean by step."""
    found = [json.loads(path.read_text(encoding="utf-8"))["step_s"] for path in sorted(work.glob(f"{name}*.json"))]
    return [float(value) for value in np.mean(found, axis=0)]


def measured(recording: Recording, steps: RunSteps, logged: list[float], mended: list[float]) -> dict[str, Any]:
    """Steps found against the log, parts against the step, samples against the system."""
    summary = recorded_run(recording)
    table = steps.settled
    uncertainty = int(recording.events.attributes.get("realtime_uncertainty_ns", -1))
    return {
        "n_steps": max(len(each) for each in steps.windows),
        "n_logged": len(logged),
        "step_s": float(table["step_s"].mean()),
        "logged_s": float(np.mean(logged[WARM_UP:])),
        "mended_s": float(np.mean(mended[WARM_UP:])),
        "unexplained_share": float(table["other_s"].sum() / table["step_s"].sum()),
        "cpu_s": summary.cpu_s,
        "sampled_cpu_s": summary.sampled_cpu_s,
        "clock_uncertainty_ns": uncertainty,
    }


def advised(advice: Advice) -> dict[str, Any]:
    """The first hint that is named, all that were said, and the gain."""
    named = advice.hints[advice.hints["verdict"] == "named"]
    first = named.iloc[0] if len(named) else None
    return {
        "cause": "" if first is None else str(first["cause"]),
        "subject": "" if first is None else str(first["subject"]).split(" (")[0],
        "saved_s": 0.0 if first is None else float(first["saved_s"]),
        "saved_lower_s": 0.0 if first is None else float(first["saved_lower_s"]),
        "saved_upper_s": 0.0 if first is None else float(first["saved_upper_s"]),
        "naive_s": 0.0 if first is None else float(first["naive_s"]),
        "said": [f"{row['cause']} ({row['verdict']})" for row in advice.hints.to_dict("records")],
    }
