"""All runs of the protocol, a row each: what the advice said, what the program's own log says, what removal brought."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.collect.trainer.launch import mpiexec_command
from mlperf.core.errors import DataError, InterruptedRun
from mlperf.core.files import write_text_whole
from mlperf.core.places import make_folder
from mlperf.core.shown import plain
from mlperf.planning.advice.advise import Advice, advise
from mlperf.planning.advice.findings import RING
from mlperf.studies.planted_faults.protocol import CLEAN, OF_RANKS, OF_RING, RING_ORDER, FaultProtocol
from mlperf.studies.planted_faults.ring_runs import LINKS, best_order, measured_links, training_command
from mlperf.traces.links.topology import read_links
from mlperf.traces.whole_run.read import read_recording
from mlperf.traces.whole_run.recorded import recorded_run
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.request import RunRequest
from mlperf.traces.whole_run.run import record_run
from mlperf.traces.whole_run.steps import RunSteps, find_steps

DOCUMENT = "runs.json"
WARM_UP = 1
Say = Callable[[str], None]


def run_fault_campaign(protocol: FaultProtocol, program: Path, keep: Path, say: Say, only: Sequence[str] = ()) -> None:
    """Run everything, one repeat of all faults after another.

    Parameters
    ----------
    protocol : FaultProtocol
    program : Path
        ``train.py``; ``ring.py`` lies beside it.
    keep : Path
        Folder that gets ``runs.json``, and the links of the runs over rings, measured once.
    say : callable
        Told what is run.
    only : sequence of str, optional
        These runs anew; rows of others stay as they are.

    Raises
    ------
    DataError
        A run that is asked for is none of the protocol's.
    """
    make_folder(keep, above=True)
    names = [name for name in protocol.causes if name in only or not only]
    if set(only) - set(names):
        raise DataError(f"got {', '.join(only)}, expected some of {', '.join(protocol.causes)}", place="runs")
    path = keep / DOCUMENT
    old = json.loads(path.read_text(encoding="utf-8"))["rows"] if only and path.is_file() else []
    rows = [row for row in old if row["run"] not in names]
    if set(names) & set(OF_RING):
        (keep / LINKS).unlink(missing_ok=True)
    for repeat in range(protocol.repeats):
        for name in names:
            say(f"repeat {repeat + 1} of {protocol.repeats}: {name}")
            rows.append(one_row(protocol, program, name, repeat, keep))
            # Written as it grows, so that an interrupted campaign says so by its length.
            write_text_whole(path, json.dumps(plain({"rows": rows}), indent=1) + "\n")


def one_row(protocol: FaultProtocol, program: Path, name: str, repeat: int, keep: Path | None = None) -> dict[str, Any]:
    """Record one run, ask for advice, and run it again with the fault removed.

    Runs over rings find their links in ``keep``, which are measured where they are not there yet.
    """
    with tempfile.TemporaryDirectory(prefix="mlperf-planted-") as folder:
        work = Path(folder)
        file = measured_links(protocol.ring, program, keep or work) if name in OF_RING else None
        recorded, mended = (
            command_of(protocol, program, name, repeat, work / f"{log}.json", mended=log == "mended", links=file)
            for log in ("recorded", "mended")
        )
        # Every other repeat the run without a recorder comes first, so that a drift of the machine cancels.
        mended_s = _plain_run(mended, work) if repeat % 2 == 1 else []
        recording = _recorded(recorded, work)
        mended_s = mended_s or _plain_run(mended, work)
        logged = _log(work, "recorded")
        steps = find_steps(recording)
        advice = advise(recording, steps, links=None if file is None else read_links(file))
        if file is not None:
            _check_order(advice, mended)
        return {"run": name, "repeat": repeat, **_measured(recording, steps, logged, mended_s), **_advised(advice)}


def _check_order(advice: Advice, command: Sequence[str]) -> None:
    """The run without the fault is over the ring that the hint named: the same links give both."""
    for each in advice.findings:
        if each.cause == RING and each.evidence["order"] not in command:
            raise InterruptedRun(f"is not over the ring {each.evidence['order']} that the hint names", place=shlex.join(command))


def command_of(
    protocol: FaultProtocol, program: Path, name: str, repeat: int, log: Path, *, mended: bool, links: Path | None = None
) -> list[str]:
    """The command of a run; over a ring, in the wrong order or in the best one by the links."""
    if name in OF_RING:
        is_wrong = name == RING_ORDER and not mended
        order = protocol.ring.wrong_order if is_wrong or links is None else best_order(links)
        return training_command(protocol.ring, program, order, log)
    fault = "none" if name in CLEAN else name
    words = [sys.executable, str(program), "--fault", fault, "--steps", str(protocol.steps), "--seed", str(repeat)]
    words += ["--log", str(log)] + (["--mended"] if mended and name not in CLEAN else [])
    if name not in OF_RANKS:
        return words
    ranks = protocol.ranks
    words += ["--hidden", str(ranks.hidden), "--batch", str(ranks.batch), "--device-ms", str(ranks.device_ms)]
    return [*mpiexec_command(None), "-n", str(ranks.n_ranks), *words]


def _recorded(command: Sequence[str], work: Path) -> Recording:
    """Record a run with the default sources."""
    with (work / "out.txt").open("wb") as out:
        document = record_run(RunRequest(tuple(command), work / "recording"), stdout=out)
    if document["command_exit_code"]:
        raise InterruptedRun(f"ended with {document['command_exit_code']}", place=shlex.join(command))
    return read_recording(work / "recording")


def _plain_run(command: Sequence[str], work: Path) -> list[float]:
    """Steps of a run without a recorder, seconds."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MLPERF_")}
    if shutil.which(command[0]) is None:
        raise InterruptedRun("is no program", place=command[0])
    with (work / "out.txt").open("wb") as out:
        subprocess.run(command, env=environment, stdout=out, check=True)  # noqa: S603 - our own program
    return _log(work, "mended")


def _log(work: Path, name: str) -> list[float]:
    """The program's own times of its steps; of several ranks the mean by step."""
    found = [json.loads(path.read_text(encoding="utf-8"))["step_s"] for path in sorted(work.glob(f"{name}*.json"))]
    return [float(value) for value in np.mean(found, axis=0)]


def _measured(recording: Recording, steps: RunSteps, logged: list[float], mended: list[float]) -> dict[str, Any]:
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


def _advised(advice: Advice) -> dict[str, Any]:
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
