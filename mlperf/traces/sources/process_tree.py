"""What the command and all its children use: processor time, memory, threads, context switches, from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from mlperf.core.proc import numbers_of, stat_words, tasks_of, text_of
from mlperf.traces.events.counters import Series
from mlperf.traces.sources.series_file import SeriesSource
from mlperf.traces.sources.source import ABSENT, OK, Probe

PROC = Path("/proc")
SWITCHES = {name: f"{name}_ctxt_switches" for name in ("voluntary", "nonvoluntary")}
CPU = Series("run.cpu", "cores")
RESIDENT = Series("run.resident", "bytes")
THREADS = Series("run.threads", "threads")
VOLUNTARY = Series("run.switches_voluntary", "1/s")
INVOLUNTARY = Series("run.switches_involuntary", "1/s")


class ProcessTree(SeriesSource):
    """Ten looks a second at the command's process and what it started; children that live shorter may be missed."""

    name = "tree"
    about = "processor time, memory, threads and context switches of the command and its children"
    by_default = True

    def __init__(self, proc: Path = PROC) -> None:
        super().__init__(self._reading)
        self._proc, self._pid = proc, 0
        self._before: dict[int, tuple[float, float, float]] = {}
        self._at = 0.0

    def probe(self) -> Probe:
        """Look for our own process."""
        found = (self._proc / str(os.getpid()) / "stat").is_file()
        return Probe(OK, "/proc") if found else Probe(ABSENT, "there is no /proc", "it is there on Linux")

    def follow(self, pid: int) -> None:
        """Begin."""
        self._pid = pid
        super().follow(pid)

    def _reading(self) -> Mapping[Series, float]:
        """Sums over the processes that are there, rates since the look before."""
        now = time.monotonic()
        passed = now - self._at
        sums = dict.fromkeys((CPU, RESIDENT, THREADS, VOLUNTARY, INVOLUNTARY), 0.0)
        after: dict[int, tuple[float, float, float]] = {}
        for pid in tree_of(self._proc, self._pid):
            usage = usage_of(self._proc / str(pid))
            if usage is None:
                continue
            after[pid] = (usage[0], usage[3], usage[4])
            before = self._before.get(pid, after[pid])
            for series, now_count, then in zip((CPU, VOLUNTARY, INVOLUNTARY), after[pid], before, strict=True):
                sums[series] += max(now_count - then, 0.0) / passed if self._before else 0.0
            sums[RESIDENT] += usage[1]
            sums[THREADS] += usage[2]
        self._before, self._at = after, now
        return sums


def tree_of(proc: Path, root: int) -> list[int]:
    """A process and all that descend from it."""
    found, at = [root], 0
    while at < len(found):
        for task in tasks_of(proc / str(found[at])):
            found += [int(word) for word in text_of(task / "children").split() if word.isdecimal()]
        at += 1
    return found


def usage_of(folder: Path) -> tuple[float, float, float, float, float] | None:
    """CPU seconds, resident bytes, threads, voluntary and other switches of its first thread; None where it is gone."""
    words, switches = stat_words(folder), numbers_of(folder / "status", SWITCHES)
    if len(words) < 22:
        return None
    seconds = (float(words[11]) + float(words[12])) / os.sysconf("SC_CLK_TCK")
    voluntary, other = (switches.get(name, 0.0) for name in SWITCHES)
    return seconds, float(words[21]) * os.sysconf("SC_PAGE_SIZE"), float(words[17]), voluntary, other
