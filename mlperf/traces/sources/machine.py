"""What the machine does as a whole: processors, memory, swap, disks, network, pressure, from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlperf.core.proc import text_of
from mlperf.traces.events.counters import Series
from mlperf.traces.sources.series_file import SeriesSource
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK, Probe

PROC = Path("/proc")
MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
SECTOR_BYTES = 512
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Machine(SeriesSource):
    """Ten readings a second of files that every Linux has."""

    name = "machine"
    about = "processors, memory, swap, disks, network and pressure of the machine, 10 times a second"
    by_default = True

    def __init__(self, proc: Path = PROC) -> None:
        super().__init__(Rates(proc).read)
        self._proc = proc

    def probe(self) -> Probe:
        """Look for the files."""
        if not (self._proc / "stat").is_file():
            return Probe(ABSENT, "there is no /proc/stat", "it is there on Linux")
        if not (self._proc / "pressure" / "cpu").is_file():
            return Probe(DEGRADED, "no pressure: the system keeps none")
        return Probe(OK, "/proc")


class Rates:
    """Counts of /proc as rates since the reading before."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._before: dict[Series, float] = {}
        self._at = 0.0

    def read(self) -> Mapping[Series, float]:
        """Levels, and rates of counts; a rate is 0 at the first reading."""
        now = time.monotonic()
        passed = now - self._at if self._before else 0.0
        found = dict(self._levels())
        for series, count in self._counts():
            before = self._before.get(series, count)
            found[series] = max(count - before, 0.0) / passed if passed > 0 else 0.0
            self._before[series] = count
        self._at = now
        return found

    def _counts(self) -> Iterator[tuple[Series, float]]:
        yield from processor_seconds(text_of(self._proc / "stat"))
        yield from disk_bytes(text_of(self._proc / "diskstats"))
        yield from network_bytes(text_of(self._proc / "net" / "dev"))
        for name in ("cpu", "io", "memory"):
            for line in text_of(self._proc / "pressure" / name).splitlines():
                if line.startswith("some "):
                    yield Series(f"pressure.{name}", "share"), float(line.rpartition("total=")[2]) * 1e-6
        for line in text_of(self._proc / "vmstat").splitlines():
            word, _, value = line.partition(" ")
            if word in ("pswpin", "pswpout"):
                yield Series("swap.in" if word == "pswpin" else "swap.out", "bytes/s"), float(value) * PAGE_BYTES

    def _levels(self) -> Iterator[tuple[Series, float]]:
        sizes = dict(line.split(":") for line in text_of(self._proc / "meminfo").splitlines() if ":" in line)
        if "MemAvailable" in sizes:
            total, available = (float(sizes[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
            yield Series("memory.available", "bytes"), available
            yield Series("memory.used", "bytes"), total - available


def processor_seconds(text: str) -> Iterator[tuple[Series, float]]:
    """Seconds of each mode, of all processors and each, switches and interrupts, from ``/proc/stat``."""
    tick = os.sysconf("SC_CLK_TCK")
    for line in text.splitlines():
        words = line.split()
        if words[:1] and words[0].startswith("cpu"):
            times = dict(zip(MODES, (float(word) / tick for word in words[1:]), strict=False))
            times["user"] = times.get("user", 0.0) + times.pop("nice", 0.0)
            what = "" if words[0] == "cpu" else words[0]
            for mode, spent in times.items():
                yield Series(f"cpu.{mode}", "cores", what), spent
        elif words[:1] == ["ctxt"]:
            yield Series("system.switches", "1/s"), float(words[1])
        elif words[:1] == ["intr"]:
            yield Series("system.interrupts", "1/s"), float(words[1])


def disk_bytes(text: str) -> Iterator[tuple[Series, float]]:
    """Bytes read and written by each device that did anything, from ``/proc/diskstats``."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 9 and (words[5] != "0" or words[9] != "0") and not words[2].startswith(("loop", "ram")):
            yield Series("disk.read", "bytes/s", words[2]), float(words[5]) * SECTOR_BYTES
            yield Series("disk.written", "bytes/s", words[2]), float(words[9]) * SECTOR_BYTES


def network_bytes(text: str) -> Iterator[tuple[Series, float]]:
    """Bytes received and sent by each interface, from ``/proc/net/dev``."""
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and len(words) > 8:
            yield Series("net.received", "bytes/s", name.strip()), float(words[0])
            yield Series("net.sent", "bytes/s", name.strip()), float(words[8])
