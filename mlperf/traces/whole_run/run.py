"""Run a command with sources around it, and keep what they recorded however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from mlperf.core.children import ended_with_parent
from mlperf.core.files import write_text_whole
from mlperf.core.places import make_folder
from mlperf.traces.sources.registry import chosen_sources
from mlperf.traces.sources.source import ABSENT, Probe, Source
from mlperf.traces.whole_run.clock_readings import read_clocks
from mlperf.traces.whole_run.host import host_facts, memory_peaks
from mlperf.traces.whole_run.request import DOCUMENT, RunRequest

FORMAT, VERSION = "mlperf-recording", 1
GATE = 'read -r _ < "$MLPERF_GATE"; unset MLPERF_GATE; exec "$@"'
"""Waits for a line, then becomes the command: sources attach before its first instruction."""
PATHS = ("PYTHONPATH", "LD_PRELOAD")
END_S = 10.0


def probe_sources(sources: Sequence[Source]) -> dict[str, Probe]:
    """What each source offers here; a probe that fails is an absent source."""
    found = {}
    for each in sources:
        try:
            found[each.name] = each.probe()
        except (OSError, subprocess.SubprocessError) as error:
            found[each.name] = Probe(ABSENT, f"looking for it failed: {error}")
    return found


def record_run(request: RunRequest, *, stdout: int | IO[Any] | None = None) -> dict[str, Any]:
    """Run a command and record it.

    Parameters
    ----------
    request : RunRequest
    stdout : file, optional
        Where the command's standard output goes instead of ours.

    Returns
    -------
    dict
        The document that the folder keeps as ``recording.json``: command, ``command_exit_code`` (128 + number for a signal),
        ``interrupted``, begin and end, processor time, host, and a row for each source.

    Notes
    -----
    The folder is complete however the command ends: sources are stopped and the document is written after a crash and after Ctrl-C.
    """
    make_folder(request.out, above=True)
    sources = chosen_sources(request.sources, request.more, request.fewer)
    probes = probe_sources(sources)
    taking = [each for each in sources if probes[each.name].status != ABSENT]
    environment = _environment(taking, request.out)
    clocks = [read_clocks()]
    failed: dict[str, str] = {}
    ended = _run(request, environment, taking, stdout, failed)
    spent, at_end = _stop(taking)
    failed = at_end | failed
    clocks.append(read_clocks())
    rows = [_row(each, probes[each.name], request.out, spent, failed) for each in sources]
    host = host_facts()
    if request.memory and not ended["interrupted"]:
        host |= memory_peaks(host["n_cores"])
    document = {"format": FORMAT, "version": VERSION, "command": list(request.command), **ended, "host": host, "sources": rows}
    document["clocks"] = [asdict(each) for each in clocks]
    write_text_whole(request.out / DOCUMENT, json.dumps(document, indent=1) + "\n")
    return document


def _environment(sources: Sequence[Source], out: Path) -> dict[str, str]:
    """What the command inherits: each source's variables; of paths, all of them one before the other."""
    found = dict(os.environ)
    for each in sources:
        folder = out / each.name
        make_folder(folder)
        for name, value in each.prepare(folder).items():
            before = found.get(name, "") if name in PATHS else ""
            found[name] = value if not before or value.endswith(before) else f"{value}:{before}"
    return found


def _run(
    request: RunRequest,
    environment: Mapping[str, str],
    sources: Sequence[Source],
    stdout: int | IO[Any] | None,
    failed: dict[str, str],
) -> dict[str, Any]:
    """Start the command behind a gate, let sources attach, open the gate, wait."""
    gate = request.out / "gate"
    os.mkfifo(gate)
    begun = time.monotonic_ns()
    child = subprocess.Popen(  # noqa: S603 - the command that the user named
        ["/bin/sh", "-c", GATE, "sh", *request.command],
        env={**environment, "MLPERF_GATE": str(gate)},
        stdout=stdout,
        # A launcher talks to its ranks over descriptors that they inherit; ours are not inherited anyway.
        close_fds=False,
        preexec_fn=ended_with_parent(signal.SIGTERM),
    )
    interrupted = False
    try:
        failed.update(_follow(sources, child.pid))
        begun = time.monotonic_ns()
        gate.write_bytes(b"\n")
        status, usage = _wait(child)
    except KeyboardInterrupt:
        # The command had the interrupt too; it may take its time to end.
        interrupted = True
        status, usage = _end(child)
    finally:
        gate.unlink()
    code = os.waitstatus_to_exitcode(status)
    return {
        "command_exit_code": code if code >= 0 else 128 - code,
        "interrupted": interrupted,
        "start_ns": begun,
        "end_ns": time.monotonic_ns(),
        "user_s": usage[0],
        "system_s": usage[1],
    }


def _follow(sources: Sequence[Source], pid: int) -> dict[str, str]:
    """Let all sources begin; one that cannot keeps neither the others nor the command from it."""
    failed = {}
    for each in sources:
        try:
            each.follow(pid)
        except (OSError, subprocess.SubprocessError) as error:
            failed[each.name] = str(error)
    return failed


def _wait(child: subprocess.Popen[bytes]) -> tuple[int, tuple[float, float]]:
    """The command's end, and its processor time with that of children it waited for."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return status, (usage.ru_utime, usage.ru_stime)


def _end(child: subprocess.Popen[bytes]) -> tuple[int, tuple[float, float]]:
    """Give an interrupted command time to end, then end it."""
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            os.kill(child.pid, number)
        until = time.monotonic() + END_S
        while time.monotonic() < until:
            found, status, usage = os.wait4(child.pid, os.WNOHANG)
            if found:
                child.returncode = os.waitstatus_to_exitcode(status)
                return status, (usage.ru_utime, usage.ru_stime)
            time.sleep(0.02)
    return _wait(child)


def _stop(sources: Sequence[Source]) -> tuple[dict[str, float], dict[str, str]]:
    """Stop all; one that fails does not keep the others from it."""
    spent, failed = {}, {}
    for each in sources:
        try:
            spent[each.name] = each.stop()
        except (OSError, subprocess.SubprocessError) as error:
            failed[each.name] = str(error)
    return spent, failed


def _row(source: Source, probe: Probe, out: Path, spent: Mapping[str, float], failed: Mapping[str, str]) -> dict[str, Any]:
    """One source: what was there, what it took, what it left."""
    folder = out / source.name
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    row = {"source": source.name, **asdict(probe), "cpu_s": spent.get(source.name, 0.0), "size_bytes": size}
    return row | ({"failed": failed[source.name]} if source.name in failed else {})
