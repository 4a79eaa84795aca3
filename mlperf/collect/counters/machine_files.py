"""What the whole machine did while a command ran: /proc/stat, vmstat and pressure; other programs are in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlperf.collect.counters.launch import Child
from mlperf.collect.counters.offers import ABSENT, OK, CounterOffer, SourceOffer, source_offer
from mlperf.collect.counters.process_files import TICK_S, Added, readable

PROC = Path("/proc")
WHOLE_MACHINE = "the whole machine: other programs are in it"
KIB_BYTES = 1024.0
MICROSECOND_S = 1e-6

CPU_FIELDS: Mapping[str, tuple[int, ...]] = {
    "machine_user_s": (0, 1),
    "machine_system_s": (2,),
    "machine_idle_s": (3,),
    "machine_iowait_s": (4,),
    "machine_interrupt_s": (5, 6),
    "machine_steal_s": (7,),
}
"""Fields of the first line of /proc/stat, to be added up."""

STAT_LINES = {"machine_switches": "ctxt", "machine_forks": "processes"}
VMSTAT_LINES: Mapping[str, tuple[str, float]] = {
    "machine_page_faults": ("pgfault", 1.0),
    "machine_major_faults": ("pgmajfault", 1.0),
    "machine_page_in_bytes": ("pgpgin", KIB_BYTES),
    "machine_page_out_bytes": ("pgpgout", KIB_BYTES),
    "machine_swap_in_pages": ("pswpin", 1.0),
    "machine_swap_out_pages": ("pswpout", 1.0),
}
PRESSURES = {f"machine_{name}_pressure_s": name for name in ("cpu", "memory", "io")}


def machine_counters() -> dict[str, float]:
    """Every counter of the machine that can be read now."""
    return readable(cpu_counters, vmstat_counters, pressure_counters)


def cpu_counters() -> dict[str, float]:
    """/proc/stat: where all cores were, and what was begun on them."""
    lines = word_lines(PROC / "stat")
    ticks = lines["cpu"]
    times = {name: sum(int(ticks[at]) for at in places) * TICK_S for name, places in CPU_FIELDS.items() if max(places) < len(ticks)}
    return times | {column: float(lines[name][0]) for column, name in STAT_LINES.items() if name in lines}


def vmstat_counters() -> dict[str, float]:
    """/proc/vmstat: pages."""
    lines = word_lines(PROC / "vmstat")
    return {column: float(lines[name][0]) * unit for column, (name, unit) in VMSTAT_LINES.items() if name in lines}


def pressure_counters() -> dict[str, float]:
    """/proc/pressure: how long some task waited."""
    found = {}
    for column, name in PRESSURES.items():
        path = PROC / "pressure" / name
        if os.access(path, os.R_OK):
            some = dict(word.partition("=")[::2] for word in word_lines(path)["some"])
            found[column] = float(some["total"]) * MICROSECOND_S
    return found


def word_lines(path: Path) -> dict[str, list[str]]:
    """Words behind the first one of each line, by that word."""
    lines = (line.split() for line in path.read_text(encoding="ascii", errors="replace").splitlines())
    return {words[0]: words[1:] for words in lines if words}


def probe_machine(names: Sequence[str]) -> SourceOffer:
    """Read the files of the machine."""
    found = machine_counters()
    offers = [
        CounterOffer(name, OK) if name in found else CounterOffer(name, ABSENT, "the kernel does not tell it") for name in names
    ]
    return source_offer("machine", offers, why=WHOLE_MACHINE)


def watch_machine(child: Child, names: Sequence[str]) -> Added:  # noqa: ARG001 - watches of other sources need it
    """Read the counters of the machine."""
    return Added(machine_counters, names, machine_counters())
