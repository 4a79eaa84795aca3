"""Resources of a command and of the children it waited for: getrusage, as ``wait4`` gives it."""

from __future__ import annotations

import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.collect.counters.launch import Child
from mlperf.collect.counters.offers import OK, CounterOffer, Readings, SourceOffer, source_offer
from mlperf.collect.counters.process_files import process_counters

KIB_BYTES = 1024.0
BEGUN_BEFORE = {
    "ru_minor_faults": "proc_minor_faults",
    "ru_major_faults": "proc_major_faults",
    "ru_voluntary_switches": "proc_voluntary_switches",
    "ru_involuntary_switches": "proc_involuntary_switches",
}
"""Counters that the process moved before it turned into the command, and where their numbers at that time stand."""


def probe_usage(names: Sequence[str]) -> SourceOffer:
    """Ask for our own usage."""
    resource.getrusage(resource.RUSAGE_CHILDREN)
    return source_offer("rusage", [CounterOffer(name, OK) for name in names])


@dataclass(frozen=True, slots=True)
class UsageWatch:
    """What the process had used before it turned into the command."""

    before: Mapping[str, float]
    launcher_rss_bytes: float
    names: Sequence[str]

    def __call__(self, child: Child) -> Readings:
        """Read the usage; the process is gone from now on."""
        usage = child.usage()
        values = {
            "ru_user_s": usage["user_s"],
            "ru_system_s": usage["system_s"],
            "ru_cpu_s": usage["user_s"] + usage["system_s"],
            "ru_minor_faults": usage["minor_faults"],
            "ru_major_faults": usage["major_faults"],
            "ru_input_blocks": usage["input_blocks"],
            "ru_output_blocks": usage["output_blocks"],
            "ru_voluntary_switches": usage["voluntary_switches"],
            "ru_involuntary_switches": usage["involuntary_switches"],
        }
        for name, started in BEGUN_BEFORE.items():
            values[name] -= self.before.get(started, 0.0)
        # The kernel's maximum includes the process that turned into the command: up to that it says nothing of the command.
        if usage["max_rss_kib"] * KIB_BYTES > self.launcher_rss_bytes:
            values["ru_max_rss_bytes"] = usage["max_rss_kib"] * KIB_BYTES
        return Readings({name: values[name] for name in self.names if name in values})


def watch_usage(child: Child, names: Sequence[str]) -> UsageWatch:
    """Read what the process used before it begins."""
    folder = Path(f"/proc/{child.pid}")
    return UsageWatch(process_counters(folder), resident_peak_bytes(folder), names)


def resident_peak_bytes(folder: Path) -> float:
    """Largest resident memory of a process so far; 0 where the kernel does not say."""
    lines = (folder / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    values = {name: rest for name, _, rest in (line.partition(":") for line in lines)}
    return float(values["VmHWM"].split()[0]) * KIB_BYTES if "VmHWM" in values else 0.0
