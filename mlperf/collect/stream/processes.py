"""A process and everything it started: sums over those alive, and what those that have ended had done when last seen."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mlperf.core.proc import numbers_of, stat_words, text_of

NS_A_TICK = 1e9 / os.sysconf("SC_CLK_TCK")
COUNTED = ("w_run_ns", "w_wait_ns", "w_slices", "w_minflt", "w_majflt", "w_utime", "w_stime", "w_vcs", "w_ivcs", "io_bytes")

SWITCHES = {"w_vcs": "voluntary_ctxt_switches", "w_ivcs": "nonvoluntary_ctxt_switches"}
"""Of the main thread."""


@dataclass(slots=True)
class Seen:
    """A process as it was last seen: its counters, its ended children's processor time, and its gauges."""

    counts: dict[str, float] = field(default_factory=dict)
    waited_ns: float = 0.0
    resident_pages: float = 0.0
    n_threads: float = 0.0
    threads: dict[str, tuple[float, float, float]] = field(default_factory=dict)


class ProcessTree:
    """Counters of a process and its descendants.

    Counters never fall: a process that has ended keeps what it had when last seen, and the processor time of children that lived
    between two samples only comes from the parent that waited for them. A descendant whose parent ended before it was seen is
    missed.

    Parameters
    ----------
    root : int
        The command's process.
    proc : path
        Where the process file system is mounted.
    """

    def __init__(self, root: int, proc: Path | str = "/proc") -> None:
        self.root = root
        self.proc = Path(proc)
        self._alive: dict[int, Seen] = {}
        self._ended: dict[str, float] = {}
        self._strangers: set[int] = set()
        self._cpu_ns = 0.0

    @property
    def descendants(self) -> tuple[int, ...]:
        """Processes that the command started, as last seen."""
        return tuple(pid for pid in self._alive if pid != self.root)

    def sample(self) -> dict[str, float]:
        """Sums of now: `COUNTED`, ``cpu_ns``, and the gauges ``w_rss``, ``w_processes``, ``w_threads``."""
        found = {}
        for pid in self._members():
            seen = self._read(pid, self._alive.get(pid) or Seen())
            if seen is not None:
                found[pid] = seen
        for pid in self._alive.keys() - found.keys():
            self._bury(self._alive[pid])
        self._alive = found
        return self._sums()

    def _sums(self) -> dict[str, float]:
        alive = list(self._alive.values())
        names = {name for seen in alive for name in seen.counts} | self._ended.keys()
        sums = {
            name: self._ended.get(name, 0.0) + sum(seen.counts.get(name, 0.0) for seen in alive)
            for name in COUNTED
            if name in names
        }
        sums["cpu_ns"] = self._processor_time(alive)
        sums["w_rss"] = sum(seen.resident_pages for seen in alive)
        sums["w_processes"] = float(len(alive))
        sums["w_threads"] = sum(seen.n_threads for seen in alive)
        return sums

    def _processor_time(self, alive: list[Seen]) -> float:
        """Nanoseconds: of the living to the nanosecond, of the ended whichever witness saw more, never less than before."""
        living = sum(own_time(seen.counts) for seen in alive)
        ended = max(own_time(self._ended), sum(seen.waited_ns for seen in alive))
        self._cpu_ns = max(self._cpu_ns, living + ended)
        return self._cpu_ns

    def _bury(self, seen: Seen) -> None:
        for name, value in seen.counts.items():
            self._ended[name] = self._ended.get(name, 0.0) + value

    def _members(self) -> list[int]:
        """The root and its descendants, parents before children."""
        parents: dict[int, int] = {}
        present = {int(name) for name in os.listdir(self.proc) if name.isdigit()}  # noqa: PTH208 - names only, many times a second
        # Who was a stranger once stays one: only new processes and our own are read.
        self._strangers &= present
        for pid in present - self._strangers:
            parent = self._parent(pid)
            if parent is not None:
                parents[pid] = parent
        ours = {self.root, *(pid for pid in self._alive if pid in parents)}
        for pid in sorted(parents):
            if descends(pid, parents, ours):
                ours.add(pid)
            else:
                self._strangers.add(pid)
        return sorted(ours & parents.keys())

    def _parent(self, pid: int) -> int | None:
        fields = stat_words(self.proc / str(pid))
        return int(fields[1]) if fields else None

    def _read(self, pid: int, seen: Seen) -> Seen | None:
        """The process as it is now; None where it has gone."""
        folder = self.proc / str(pid)
        fields = stat_words(folder)
        if not fields:
            return None
        now = Seen(dict(seen.counts), threads=dict(seen.threads))
        raise_to(now.counts, {"w_minflt": float(fields[7]), "w_majflt": float(fields[9])})
        raise_to(now.counts, {"w_utime": float(fields[11]), "w_stime": float(fields[12])})
        now.waited_ns = (float(fields[13]) + float(fields[14])) * NS_A_TICK
        now.n_threads, now.resident_pages = float(fields[17]), float(fields[21])
        self._read_threads(folder, now)
        # Whatever the means; nothing where the kernel does not say.
        moved = numbers_of(folder / "io", {"read": "rchar", "written": "wchar"})
        if len(moved) == 2:
            raise_to(now.counts, {"io_bytes": moved["read"] + moved["written"]})
        return now

    @staticmethod
    def _read_threads(folder: Path, now: Seen) -> None:
        """Time on and off a processor, slices and switches of every thread, ended ones as last seen."""
        for thread in entries(folder / "task"):
            words = text_of(folder / "task" / thread / "schedstat").split()
            if len(words) == 3:
                now.threads[thread] = (float(words[0]), float(words[1]), float(words[2]))
        if now.threads:
            sums = [sum(column) for column in zip(*now.threads.values(), strict=True)]
            raise_to(now.counts, dict(zip(("w_run_ns", "w_wait_ns", "w_slices"), sums, strict=True)))
        raise_to(now.counts, numbers_of(folder / "status", SWITCHES))


def own_time(counts: dict[str, float]) -> float:
    """Processor time of a process in nanoseconds: its threads' sum, or its ticks where those saw more."""
    ticks = (counts.get("w_utime", 0.0) + counts.get("w_stime", 0.0)) * NS_A_TICK
    return max(counts.get("w_run_ns", 0.0), ticks)


def descends(pid: int, parents: dict[int, int], ours: set[int]) -> bool:
    """Whether a chain of parents leads from ``pid`` into ``ours``."""
    passed: set[int] = set()
    while pid not in ours:
        if pid in passed or pid not in parents:
            return False
        passed.add(pid)
        pid = parents[pid]
    return True


def raise_to(counts: dict[str, float], values: dict[str, float]) -> None:
    """Take in counters, never letting one fall."""
    for name, value in values.items():
        counts[name] = max(counts.get(name, 0.0), value)


def entries(folder: Path) -> Iterable[str]:
    """Names in a folder; none where the process has gone."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - names only, many times a second
    except OSError:
        return ()
