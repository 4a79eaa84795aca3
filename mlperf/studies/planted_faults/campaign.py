"""All runs of the protocol, a row each: what the advice said, what the program's own log says, what removal brought."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mlperf.collect.trainer.launch import mpiexec_command
from mlperf.core.errors import DataError, InterruptedRun
from mlperf.core.places import make_folder
from mlperf.planning.advice.advise import Advice, advise
from mlperf.planning.advice.findings import RING
from mlperf.studies.planted_faults.kept import DOCUMENT, keep_rows
from mlperf.studies.planted_faults.one_run import advised, fault_and_mended, log_of, measured
from mlperf.studies.planted_faults.protocol import CLEAN, CPP, OF_RANKS, OF_RING, RING_ORDER, FaultProtocol
from mlperf.studies.planted_faults.ring_runs import LINKS, best_order, measured_links, training_command
from mlperf.traces.links.topology import read_links
from mlperf.traces.whole_run.steps import find_steps

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
            keep_rows(rows, keep)


def one_row(protocol: FaultProtocol, program: Path, name: str, repeat: int, keep: Path | None = None) -> dict[str, Any]:
    """Record one run, ask for advice, and run it again with the fault removed.

    Runs over rings find their links in ``keep``, which are measured where they are not there yet.
    """
    with tempfile.TemporaryDirectory(prefix="mlperf-planted-") as folder:
        work = Path(folder)
        file = measured_links(protocol.ring, program, keep or work) if name in OF_RING else None
        with_fault, mended = (
            command_of(protocol, program, name, repeat, work / f"{log}.json", mended=log == "mended", links=file)
            for log in ("recorded", "mended")
        )
        recording, mended_s = fault_and_mended(with_fault, mended, work, repeat)
        logged = log_of(work, "recorded")
        steps = find_steps(recording)
        advice = advise(recording, steps, links=None if file is None else read_links(file))
        if file is not None:
            _check_order(advice, mended)
        return {"run": name, "repeat": repeat, **measured(recording, steps, logged, mended_s), **advised(advice)}


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
    fault = "none" if name in CLEAN else name.removeprefix(CPP)
    words = [sys.executable, str(program), "--fault", fault, "--steps", str(protocol.steps), "--seed", str(repeat)]
    words += ["--log", str(log)] + (["--mended"] if mended and name not in CLEAN else [])
    words += ["--decoder", "cpp"] if name.startswith(CPP) else []
    if name not in OF_RANKS:
        return words
    ranks = protocol.ranks
    words += ["--hidden", str(ranks.hidden), "--batch", str(ranks.batch), "--device-ms", str(ranks.device_ms)]
    return [*mpiexec_command(None), "-n", str(ranks.n_ranks), *words]
