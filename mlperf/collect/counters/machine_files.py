"""What the whole machine did while a command ran: /proc/stat, vmstat and pressure; other programs are in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mlperf.collect.counters.launch import Child
from mlperf.collect.counters.offers import ABSENT, OK, CounterOffer, SourceOffer, source_offer
from mlperf.collect.counters.process_files import TICK_S, Added, readable
from mlperf.core.proc import words_of

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
    lines = words_of(PROC / "stat")
    ticks = lines.get("cpu", [])
    times = {name: sum(int(ticks[at]) for at in places) * TICK_S for name, places in CPU_FIELDS.items() if max(places) < len(ticks)}
    return times | {column: float(lines[name][0]) for column, name in STAT_LINES.items() if name in lines}


def vmstat_counters() -> dict[str, float]:
    """/proc/vmstat: pages."""
    lines = words_of(PROC / "vmstat")
    return {column: float(lines[name][0]) * unit for column, (name, unit) in VMSTAT_LINES.items() if name in lines}


def pressure_counters() -> dict[str, float]:
    """/proc/pressure: how long some task waited."""
    found = {}
    for column, name in PRESSURES.items():
        some = dict(word.partition("=")[::2] for word in words_of(PROC / "pressure" / name).get("some", []))
        if "total" in some:
            found[column] = float(some["total"]) * MICROSECOND_S
    return found


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
