"""``perf stat``: the same events by the tool of that name, in a run of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.collect.counters.capacity import events_at_once
from mlperf.collect.counters.offers import ABSENT, DEGRADED, OK, CounterOffer, Readings, SourceOffer, absent_source, source_offer
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.numbers import parse_number

PACKAGE = "linux-perf (Debian), linux-tools-generic (Ubuntu), perf (Fedora)"
PATIENCE_S = 20.0
MILLISECOND_S = 1e-3
SHARE = "perf_running_share"

NAMES: Mapping[str, str] = {
    "perf_instructions": "instructions:u",
    "perf_cycles": "cycles:u",
    "perf_branches": "branches:u",
    "perf_branch_misses": "branch-misses:u",
    "perf_l1d_load_misses": "L1-dcache-load-misses:u",
    "perf_l1d_loads": "L1-dcache-loads:u",
    "perf_l1d_stores": "L1-dcache-stores:u",
    "perf_cache_references": "cache-references:u",
    "perf_cache_misses": "cache-misses:u",
    "perf_llc_loads": "LLC-loads:u",
    "perf_llc_load_misses": "LLC-load-misses:u",
    "perf_dtlb_load_misses": "dTLB-load-misses:u",
    "perf_dtlb_loads": "dTLB-loads:u",
    "perf_itlb_load_misses": "iTLB-load-misses:u",
    "perf_l1i_load_misses": "L1-icache-load-misses:u",
    "perf_ref_cycles": "ref-cycles:u",
    "perf_stalled_cycles_frontend": "stalled-cycles-frontend:u",
    "perf_stalled_cycles_backend": "stalled-cycles-backend:u",
    "perf_task_clock_s": "task-clock",
    "perf_page_faults": "page-faults",
    "perf_minor_faults": "minor-faults",
    "perf_major_faults": "major-faults",
    "perf_context_switches": "context-switches",
    "perf_cpu_migrations": "cpu-migrations",
    "perf_alignment_faults": "alignment-faults",
}
ALL_OF_THE_TIME = 100.5
"""Percent, as rounding may print it."""

NO_TURN = "not counted"
ALWAYS_ZERO = ("context-switches:u", "cpu-migrations:u")
SCALES = {"perf_task_clock_s": MILLISECOND_S}
_EVENT = re.compile(r"(?:[\w.-]+/)?(?P<name>[^/:]+)(?:[:/].*)?")
"""``instructions:u``, and of processors with several kinds of cores ``cpu_core/instructions:u/`` or ``cpu_core/instructions/u``."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the tool: a value, or the words in its place."""

    value: float | None
    running_share: float
    words: str


def command_line(command: Sequence[str], names: Sequence[str], output: Path) -> list[str]:
    """``perf stat`` around a command."""
    events = ",".join(NAMES[name] for name in names)
    return ["perf", "stat", "--no-big-num", "-x", ";", "-o", str(output), "-e", events, "--", *command]


def read_output(text: str, names: Sequence[str]) -> dict[str, Line]:
    """Lines of ``perf stat -x``, by column; those of several kinds of cores as one."""
    by_event: dict[str, list[list[str]]] = {}
    for fields in (line.split(";") for line in text.splitlines() if line.count(";") >= 4):
        found = _EVENT.fullmatch(fields[2])
        # Where the kernel's part is not permitted the tool adds :u by itself: what happens in the kernel would always be zero.
        if found is not None and fields[2] not in ALWAYS_ZERO:
            by_event.setdefault(found["name"], []).append(fields)
    wanted = {name: NAMES[name].removesuffix(":u") for name in names}
    return {
        name: of_all_cores([counted(fields, SCALES.get(name, 1.0)) for fields in by_event[event]])
        for name, event in wanted.items()
        if event in by_event
    }


def of_all_cores(lines: Sequence[Line]) -> Line:
    """One event's lines, one a kind of cores, as one.

    A program is on one kind at a time, and the tool scales each line up to the whole time: 2 % of it on slow cores would be told as
    if they had done all. What was counted is value x share; the rest of the time is scaled as for one kind.
    """
    told = [line for line in lines if line.value is not None]
    share = sum(line.running_share for line in told)
    if len(told) < 2 or share <= 0.0:
        return told[0] if told else lines[0]
    return Line(sum(float(line.value or 0.0) * line.running_share for line in told) / share, min(share, 1.0), "")


def counted(fields: Sequence[str], scale: float) -> Line:
    """One line: value, unit, event, time, percentage of it; decimals as the locale writes them."""
    value, share = (parse_number(fields[at].replace(",", ".")) for at in (0, 4))
    if value is None or share is None:
        return Line(None, 0.0, fields[0].strip("<> ") or "no value")
    if value < 0.0 or not 0.0 <= share <= ALL_OF_THE_TIME:
        got = f"got {fields[0]!r} in {fields[4]!r} % of the time, expected a count >= 0 and a share of 0 to 100 %"
        raise DataError(got, place=f"perf stat, {fields[2]}", hint="Count again: the tool's output is damaged.")
    return Line(value * scale, min(share / 100.0, 1.0), "")


def counters_from(text: str, names: Sequence[str]) -> Readings:
    """Columns of one run."""
    lines = {name: line for name, line in read_output(text, names).items() if line.value is not None}
    shares = [line.running_share for line in lines.values()]
    values = {name: float(line.value or 0.0) for name, line in lines.items()} | ({SHARE: min(shares)} if shares else {})
    return Readings(values, [name for name, line in lines.items() if line.running_share < 1])


def probe_perf_stat(names: Sequence[str], folder: Path) -> SourceOffer:
    """Run ``perf stat`` on a program that does nothing."""
    if shutil.which("perf") is None:
        return absent_source("perf-stat", names, "the program perf is not installed", PACKAGE)
    output = folder / "probe.txt"
    try:
        done = subprocess.run(  # noqa: S603 - perf stat on true
            command_line(["true"], names, output), capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return absent_source("perf-stat", names, f"perf stat failed: {error}")
    if not output.exists():
        said = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        return absent_source("perf-stat", names, f"perf stat failed: {said}")
    lines = read_output(output.read_text(encoding="utf-8", errors="replace"), names)
    return source_offer("perf-stat", [perf_offer(name, lines.get(name)) for name in names], at_once=events_at_once())


def perf_offer(name: str, line: Line | None) -> CounterOffer:
    """One event, as the tool counted it."""
    if line is None:
        return CounterOffer(name, ABSENT, "perf stat does not print it, or not the part in which it happens")
    if line.words == NO_TURN:
        return CounterOffer(name, DEGRADED, "had no turn on a counter in a short trial")
    return CounterOffer(name, OK) if line.value is not None else CounterOffer(name, ABSENT, line.words)
