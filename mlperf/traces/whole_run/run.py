"""Run a command with sources around it, and keep what they recorded however it ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from mlperf.core.files import write_text_whole
from mlperf.core.places import make_folder
from mlperf.traces.sources.child import ERRORS, Child
from mlperf.traces.sources.registry import chosen_sources
from mlperf.traces.sources.source import ABSENT, DEGRADED, Probe, Source
from mlperf.traces.whole_run.clock_readings import read_clocks
from mlperf.traces.whole_run.host import host_facts, memory_peaks
from mlperf.traces.whole_run.launched import Launched
from mlperf.traces.whole_run.request import DOCUMENT, RunRequest

FORMAT, VERSION = "mlperf-recording", 1
PATHS = ("PYTHONPATH", "LD_PRELOAD")
UNFINISHED = "unfinished"
"""Key of a document whose run has not ended, or whose recorder was killed."""


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
        ``interrupted`` (and when), begin and end, processor time, host, and a row for each source.

    Notes
    -----
    The folder is complete however the command ends: sources are stopped and the document is written after a crash and after Ctrl-C.
    A document marked as unfinished stands there before the command runs, for a recorder that is killed itself. Where something
    ends it before that, a folder that it made is removed.
    """
    is_new = not request.out.exists()
    failed: dict[str, str] = {}
    try:
        make_folder(request.out, above=True)
        sources = chosen_sources(request.sources, request.more, request.fewer, request.frequency_hz)
        probes = probe_sources(sources)
        environment = _environment([each for each in sources if probes[each.name].status != ABSENT], request.out, failed)
        taking = [each for each in sources if probes[each.name].status != ABSENT and each.name not in failed]
        clocks = [read_clocks()]
        host = host_facts()
    except BaseException:
        # Nothing of the command has run: a folder without a document would be neither a recording nor free for the next.
        if is_new:
            shutil.rmtree(request.out, ignore_errors=True)
        raise

    def write(ended: Mapping[str, Any], spent: Mapping[str, float]) -> dict[str, Any]:
        rows = [_row(each, probes[each.name], request.out, spent, failed) for each in sources]
        document = {"format": FORMAT, "version": VERSION, "command": list(request.command), **ended, "host": host, "sources": rows}
        document["clocks"] = [asdict(each) for each in clocks]
        write_text_whole(request.out / DOCUMENT, json.dumps(document, indent=1) + "\n")
        return document

    def write_unfinished(begun_ns: int) -> None:
        write({UNFINISHED: True, "start_ns": begun_ns, "end_ns": begun_ns}, {})

    ended = _run(request, environment, taking, stdout, failed, write_unfinished)
    spent, at_end = _stop(taking)
    failed |= {name: why for name, why in at_end.items() if name not in failed}
    clocks.append(read_clocks())
    if request.memory and not ended["interrupted"]:
        host |= memory_peaks(host["n_cores"])
    return write(ended, spent)


def _environment(sources: Sequence[Source], out: Path, failed: dict[str, str]) -> dict[str, str]:
    """What the command inherits: each source's variables; of paths, all of them one before the other."""
    found = dict(os.environ)
    for each in sources:
        folder = out / each.name
        try:
            make_folder(folder)
            variables = each.prepare(folder)
        except (OSError, subprocess.SubprocessError) as error:
            failed[each.name] = str(error)
            continue
        for name, value in variables.items():
            before = found.get(name, "") if name in PATHS else ""
            found[name] = value if not before or value.endswith(before) else f"{value}:{before}"
    return found


def _run(
    request: RunRequest,
    environment: Mapping[str, str],
    sources: Sequence[Source],
    stdout: int | IO[Any] | None,
    failed: dict[str, str],
    write_unfinished: Callable[[int], None],
) -> dict[str, Any]:
    """Start the command behind a gate, let sources attach, open the gate, wait."""
    begun = time.monotonic_ns()
    launched = Launched(request.command, environment, request.out / "gate", stdout)
    interrupted_ns = None
    try:
        failed.update(_follow(sources, launched.pid))
        write_unfinished(time.monotonic_ns())
        begun = time.monotonic_ns()
        launched.open_gate()
        status, usage = launched.wait()
    except KeyboardInterrupt:
        interrupted_ns = time.monotonic_ns()
        status, usage = launched.end()
    finally:
        launched.close()
    code = os.waitstatus_to_exitcode(status)
    return {
        "command_exit_code": code if code >= 0 else 128 - code,
        "interrupted": interrupted_ns is not None,
        **({} if interrupted_ns is None else {"interrupted_ns": interrupted_ns}),
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


def _stop(sources: Sequence[Source]) -> tuple[dict[str, float], dict[str, str]]:
    """Stop all; one that fails does not keep the others from it."""
    spent, failed = {}, {}
    for each in sources:
        try:
            spent[each.name] = each.stop()
        except (OSError, subprocess.SubprocessError) as error:
            failed[each.name] = str(error)
        bad = [child.failure for child in _recorders(each) if child.failure]
        if bad:
            failed.setdefault(each.name, "; ".join(bad))
    return spent, failed


def _recorders(source: Source) -> list[Child]:
    """The programs that a source runs beside the command."""
    return [each for each in getattr(source, "__dict__", {}).values() if isinstance(each, Child)]


def _row(source: Source, probe: Probe, out: Path, spent: Mapping[str, float], failed: Mapping[str, str]) -> dict[str, Any]:
    """One source: what was there, what it took, what it left; one that failed is degraded where it left something, else absent."""
    folder = out / source.name
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ERRORS] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files)
    row = {"source": source.name, **asdict(probe), "cpu_s": spent.get(source.name, 0.0), "size_bytes": size}
    codes = [child.exit_code for child in _recorders(source) if child.failure]
    if codes:
        row["recorder_exit_codes"] = codes
    if source.name not in failed:
        return row
    return row | {"status": DEGRADED if size else ABSENT, "reason": failed[source.name], "failed": failed[source.name]}
