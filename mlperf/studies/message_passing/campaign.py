"""All runs of the protocol, kept as small files: one document with every time and prediction, one stored trace for each program."""

from __future__ import annotations

import json
import math
import platform
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mlperf.collect.loggps.measure import collect_loggps
from mlperf.collect.loggps.request import LogGPSRequest
from mlperf.collect.trainer.launch import mpiexec_command
from mlperf.core.files import write_text_whole
from mlperf.core.places import make_folder
from mlperf.core.shown import plain
from mlperf.studies.message_passing.compositing import composited
from mlperf.studies.message_passing.overhead import Overhead, paired
from mlperf.studies.message_passing.programs import Launch, Measured, Programs, build_programs, measured, python_program
from mlperf.studies.message_passing.protocol import MessageProtocol
from mlperf.studies.message_passing.registration import STRATEGIES, Step, edited_runs, launch_of
from mlperf.studies.message_passing.transports import SHARED, TCP, other_network, transport_launch
from mlperf.systems.loggps.costs import Preset
from mlperf.systems.loggps.parameters import LogGPS
from mlperf.traces.events.table import EventTable
from mlperf.traces.replay.network_file import read_network
from mlperf.traces.replay.timing import Timing
from mlperf.traces.writers.store import write_store

DOCUMENT = "runs.json"
RESTING = "resting"
Say = Callable[[str], None]


def run_message_campaign(protocol: MessageProtocol, examples: Path, keep: Path, say: Say, *, quick: bool = False) -> None:
    """Run everything.

    Parameters
    ----------
    protocol : MessageProtocol
        Settings.
    examples : Path
        ``examples/message_passing``.
    keep : Path
        Folder that gets ``runs.json``, ``network-*.toml`` and the stored traces.
    say : callable
        Told what is run.
    quick : bool
        Whether the networks are measured with half of the sizes of messages.

    Raises
    ------
    DataError
        A program does not compile, or fails.
    """
    make_folder(keep, above=True)
    with tempfile.TemporaryDirectory(prefix="mlperf-message-passing-") as name:
        programs = build_programs(examples, Path(name))
        networks = measured_networks(programs, keep, say, quick=quick)
        timing = Timing(*networks[RESTING])
        document = {
            "host": {"processor": platform.machine(), "system": platform.system()},
            "registration": _registration(protocol, programs, timing, keep, say),
            "compositing": _compositing(protocol, programs, keep, say),
            "transports": _transports(protocol, programs, networks, keep, say),
            "overhead": [_overhead(each) for each in overheads(protocol, programs, examples, say)],
        }
    write_text_whole(keep / DOCUMENT, json.dumps(plain(document), indent=1) + "\n")


def measured_networks(programs: Programs, keep: Path, say: Say, *, quick: bool) -> dict[str, tuple[Preset, LogGPS]]:
    """LogGPS parameters of both transports, and of shared memory under waits that rest."""
    found = {}
    resting = shlex.join([*mpiexec_command(None), "-genv", "LD_PRELOAD", str(programs.resting)])
    asked = {SHARED: (SHARED, None), TCP: (TCP, None), RESTING: ("default", resting)}
    for name, (transport, mpiexec) in asked.items():
        say(f"LogGPS parameters: {name}")
        path = keep / f"network-{name}.toml"
        collect_loggps(LogGPSRequest(path, transport, mpiexec=mpiexec, quick=quick))
        # The name of the machine is nobody's business.
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        write_text_whole(path, "".join(line for line in lines if not line.startswith("host")))
        found[name] = read_network(path)
    return found


def _registration(protocol: MessageProtocol, programs: Programs, timing: Timing, keep: Path, say: Say) -> dict[str, Any]:
    wanted = protocol.registration
    say("registration: as it is")
    first = measured(programs, launch_of(programs, wanted, range(wanted.points)), wanted.repeats)
    found = {}
    for strategy in STRATEGIES:
        say(f"registration: edited by the {strategy}")
        steps = edited_runs(programs, wanted, strategy, timing, first)
        found[strategy] = [_step(step, number, strategy, keep) for number, step in enumerate(steps)]
    return found


def _step(step: Step, number: int, strategy: str, keep: Path) -> dict[str, Any]:
    """One row, its trace stored."""
    trace = f"registration-{strategy.split()[0]}-{number}.npz"
    return {"edit": plain(step.edit), **kept_runs(step.runs, keep / trace), "replayed_s": step.replayed_s}


def _compositing(protocol: MessageProtocol, programs: Programs, keep: Path, say: Say) -> dict[str, Any]:
    say("compositing: blocks, then interleaved rows")
    found = composited(programs, protocol.compositing)
    return {split: kept_runs(runs, keep / f"compositing-{split}.npz") for split, runs in found.items()}


def _transports(
    protocol: MessageProtocol, programs: Programs, networks: dict[str, tuple[Preset, LogGPS]], keep: Path, say: Say
) -> dict[str, Any]:
    say("shared memory, then TCP")
    found = other_network(programs, protocol.transports, networks)
    rerun = {"times_s": found.rerun.times_s, "median_s": found.rerun.median_s}
    return {SHARED: kept_runs(found.recorded, keep / f"transports-{SHARED}.npz"), TCP: rerun, "predicted_s": found.predicted_s}


def overheads(protocol: MessageProtocol, programs: Programs, examples: Path, say: Say) -> list[Overhead]:
    """Paired runs of both recorders."""
    wanted, ring = protocol.registration, examples / "ring.py"
    point_order = launch_of(programs, wanted, range(wanted.points))
    stages = transport_launch(programs, protocol.transports, SHARED)
    recorded_ring = Launch(python_program(ring, "--record"), 2, proxy=True)
    cases = (
        ("pmpi", "registration, 8 ranks", (point_order, point_order)),
        ("pmpi", "compositing, 2 ranks", (stages, stages)),
        ("mpi4py proxy", "ring, 2 ranks", (recorded_ring, Launch(python_program(ring), 2))),
    )
    found = []
    for recorder, program, launches in cases:
        say(f"overhead: {program} under {recorder}")
        found.append(paired(programs, recorder, program, launches, protocol.overhead.pairs))
    return found


def _overhead(found: Overhead) -> dict[str, Any]:
    return {**_plain(found), "share": found.share}


def _plain(found: Any) -> Mapping[str, Any]:
    rows: Mapping[str, Any] = plain(found)
    return rows


def kept_runs(runs: Measured, path: Path) -> dict[str, Any]:
    """Times of repeated runs; the trace goes into a file, without the names of machines."""
    write_store(without_hosts(runs.table), path)
    measured_s = runs.table.end_ns.max() * 1e-9 if len(runs.table) else math.nan
    return {
        "times_s": runs.times_s,
        "median_s": runs.median_s,
        "trace": path.name,
        "trace_s": float(measured_s),
        "n_events": runs.n_events,
        "bytes_per_event": runs.n_bytes / max(runs.n_events, 1),
    }


def without_hosts(table: EventTable) -> EventTable:
    """A table that does not say on which machines it was recorded, nor when."""
    kept = {name: value for name, value in table.attributes.items() if name not in ("hosts", "epoch_ns")}
    return table.replace(attributes=kept, origin_ns=0)
