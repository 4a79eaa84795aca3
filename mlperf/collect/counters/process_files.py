"""What the kernel tells of a command: /proc/PID before it begins and after its end, getrusage as ``wait4`` gives it."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mlperf.collect.counters.launch import Child
from mlperf.collect.counters.offers import ABSENT, DEGRADED, OK, CounterOffer, Readings, SourceOffer, source_offer
from mlperf.core.proc import numbers_of, stat_words

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
NANOSECOND_S = 1e-9

STAT_FIELDS: Mapping[str, tuple[tuple[int, ...], float]] = {
    "proc_user_s": ((14, 16), TICK_S),
    "proc_system_s": ((15, 17), TICK_S),
    "proc_minor_faults": ((10, 11), 1.0),
    "proc_major_faults": ((12, 13), 1.0),
    "proc_block_wait_s": ((42,), TICK_S),
}
"""Fields of /proc/PID/stat by the numbers of the manual page, to be added up: the process and the children it waited for."""

STATUS_LINES = {
    "proc_voluntary_switches": "voluntary_ctxt_switches",
    "proc_involuntary_switches": "nonvoluntary_ctxt_switches",
}
IO_LINES = {
    "proc_read_chars_bytes": "rchar",
    "proc_write_chars_bytes": "wchar",
    "proc_read_calls": "syscr",
    "proc_write_calls": "syscw",
    "proc_read_bytes": "read_bytes",
    "proc_write_bytes": "write_bytes",
}
SCHEDULER_FIELDS = (("proc_run_s", NANOSECOND_S), ("proc_queue_s", NANOSECOND_S), ("proc_timeslices", 1.0))
FIRST_THREAD = "of the first thread only"
OF_FIRST_THREAD = (*STATUS_LINES, *(name for name, _ in SCHEDULER_FIELDS))


def process_counters(folder: Path) -> dict[str, float]:
    """Every counter that the files of a process give now; those of unreadable files are left out.

    Parameters
    ----------
    folder : Path
        ``/proc/PID``.
    """
    return readable(
        partial(stat_counters, folder),
        partial(numbers_of, folder / "status", STATUS_LINES),
        partial(scheduler_counters, folder),
        partial(numbers_of, folder / "io", IO_LINES),
    )


def readable(*readers: Callable[[], dict[str, float]]) -> dict[str, float]:
    """What some readers of the kernel's files tell together; those that fail are left out."""
    found: dict[str, float] = {}
    for read in readers:
        with suppress(OSError, ValueError, IndexError):
            found |= read()
    return found


def stat_counters(folder: Path) -> dict[str, float]:
    """``stat``: times and faults."""
    # Fields are counted from 1, and the third follows the name.
    fields = stat_words(folder)
    return {
        name: sum(int(fields[number - 3]) for number in numbers) * unit
        for name, (numbers, unit) in STAT_FIELDS.items()
        if len(fields) > max(numbers) - 3
    }


def scheduler_counters(folder: Path) -> dict[str, float]:
    """``schedstat``: on a core, and waiting for one."""
    numbers = (folder / "schedstat").read_text(encoding="ascii").split()
    return {name: int(number) * unit for (name, unit), number in zip(SCHEDULER_FIELDS, numbers, strict=False)}


def probe_process(names: Sequence[str]) -> SourceOffer:
    """Read the files of this process."""
    found = process_counters(Path("/proc/self"))
    offers = [process_offer(name, present=name in found) for name in names]
    return source_offer("proc", offers)


def process_offer(name: str, *, present: bool) -> CounterOffer:
    """One counter of /proc/PID."""
    if not present:
        return CounterOffer(name, ABSENT, "the kernel does not tell it")
    if name in OF_FIRST_THREAD:
        return CounterOffer(name, DEGRADED, FIRST_THREAD)
    return CounterOffer(name, OK)


@dataclass(frozen=True, slots=True)
class Added:
    """What counters of the kernel's files grow by while a command runs.

    Attributes
    ----------
    read : callable
        Reads all of them now.
    names : sequence of str
        Which are told.
    before : mapping
        What they were before the process turned into the command.
    """

    read: Callable[[], dict[str, float]]
    names: Sequence[str]
    before: Mapping[str, float]

    def __call__(self, child: Child) -> Readings:  # noqa: ARG002 - watches of other sources need it
        """What was added."""
        after = self.read()
        return Readings({name: after[name] - self.before[name] for name in self.names if name in after and name in self.before})


def watch_process(child: Child, names: Sequence[str]) -> Added:
    """Read the counters of a command that has not begun."""
    read = partial(process_counters, Path(f"/proc/{child.pid}"))
    return Added(read, names, read())


KIB_BYTES = 1024.0
BEGUN_BEFORE = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
"""Counters that the process moved before it turned into the command: /proc told their numbers at that time."""


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
        values = {f"ru_{name}": number for name, number in usage.items()}
        values["ru_cpu_s"] = usage["user_s"] + usage["system_s"]
        for name in BEGUN_BEFORE:
            values[f"ru_{name}"] -= self.before.get(f"proc_{name}", 0.0)
        # The kernel's maximum includes the process that turned into the command: up to that it says nothing of the command.
        if usage["max_rss_kib"] * KIB_BYTES > self.launcher_rss_bytes:
            values["ru_max_rss_bytes"] = usage["max_rss_kib"] * KIB_BYTES
        return Readings({name: values[name] for name in self.names if name in values})


def watch_usage(child: Child, names: Sequence[str]) -> UsageWatch:
    """Read what the process used before it begins."""
    folder = Path(f"/proc/{child.pid}")
    peak = numbers_of(folder / "status", {"VmHWM": "VmHWM"})
    return UsageWatch(process_counters(folder), peak.get("VmHWM", 0.0) * KIB_BYTES, names)
