"""All runs of the protocol, a row each: recorded and advised on, run again without the fault, and run under TraceML."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlperf.core.errors import InterruptedRun
from mlperf.core.places import make_folder
from mlperf.planning.advice.advise import advise
from mlperf.studies.planted_faults.kept import keep_rows
from mlperf.studies.planted_faults.one_run import advised, fault_and_mended, log_of, measured
from mlperf.studies.torch_faults.protocol import TorchProtocol
from mlperf.traces.readers.system.traceml import read_traceml
from mlperf.traces.whole_run.steps import find_steps

CLEAN = ("none", "ranks-none")
Say = Callable[[str], None]


def run_torch_campaign(protocol: TorchProtocol, program: Path, keep: Path, say: Say, traceml: Path | None = None) -> None:
    """Run everything, one repeat of all faults after another.

    Parameters
    ----------
    protocol : TorchProtocol
    program : Path
        ``torch_train.py``.
    keep : Path
        Folder that gets ``runs.json``.
    say : callable
        Told what is run.
    traceml : Path, optional
        The ``traceml`` command of an environment of its own, which has PyTorch too; without it rows have no verdict.
    """
    make_folder(keep, above=True)
    rows = []
    for repeat in range(protocol.repeats):
        for name in protocol.runs:
            say(f"repeat {repeat + 1} of {protocol.repeats}: {name}")
            rows.append(one_torch_row(protocol, program, name, repeat, traceml))
            keep_rows(rows, keep)


def one_torch_row(protocol: TorchProtocol, program: Path, name: str, repeat: int, traceml: Path | None) -> dict[str, Any]:
    """Record one run, ask for advice, run it without the fault, and run it under TraceML."""
    with tempfile.TemporaryDirectory(prefix="mlperf-torch-") as folder:
        work = Path(folder)
        words = options_of(protocol, name, repeat)
        with_fault = [*launcher(protocol, name), str(program), *words, "--times", str(work / "recorded.json")]
        mended = [*launcher(protocol, name), str(program), *words, "--times", str(work / "mended.json")]
        mended += [] if name in CLEAN else ["--mended"]
        recording, mended_s = fault_and_mended(with_fault, mended, work, repeat)
        steps = find_steps(recording)
        row = {"run": name, "repeat": repeat, **measured(recording, steps, log_of(work, "recorded"), mended_s)}
        row |= advised(advise(recording, steps))
        return row | {"traceml": traceml_verdict(protocol, program, name, repeat, traceml, work)}


def options_of(protocol: TorchProtocol, name: str, repeat: int) -> list[str]:
    """Options of the program."""
    fault = "none" if name in CLEAN else name
    return ["--fault", fault, "--steps", str(protocol.steps), "--seed", str(repeat), *protocol.runs[name].options]


def launcher(protocol: TorchProtocol, name: str) -> list[str]:
    """Python, or ``torchrun`` by its module."""
    if not protocol.runs[name].of_ranks:
        return [sys.executable]
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(protocol.n_ranks)]


def traceml_verdict(protocol: TorchProtocol, program: Path, name: str, repeat: int, traceml: Path | None, work: Path) -> str:
    """The primary diagnosis of TraceML for a run of its own; empty without it."""
    if traceml is None:
        return ""
    ranks = ["--nproc-per-node", str(protocol.n_ranks)] if protocol.runs[name].of_ranks else []
    command = [str(traceml), "run", "--mode", "summary", "--logs-dir", str(work / "logs"), "--run-name", "run", *ranks]
    command += [str(program), "--args", "--traceml", *options_of(protocol, name, repeat)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MLPERF_")}
    with (work / "traceml.txt").open("wb") as out:
        ended = subprocess.run(command, env=environment, stdout=out, stderr=out, check=False)  # noqa: S603 - as the user named it
    if ended.returncode:
        raise InterruptedRun(f"ended with {ended.returncode}", place=" ".join(command))
    return read_traceml(work / "logs" / "run" / "final_summary.json").verdict
