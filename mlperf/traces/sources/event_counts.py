"""Instructions, misses of caches and branches, page faults: what the command's threads do, counted by ``perf``."""

from __future__ import annotations

import shutil
import subprocess
import time

from mlperf.traces.readers.system.event_counts import FIELDS, plain_event, read_event_counts, span_line
from mlperf.traces.sources.bases import OneProgram
from mlperf.traces.sources.child import Child
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK, Probe, filled

HARDWARE = ("instructions", "cache-misses", "branch-misses")
OFTEN = "freq=199"
FAULTS = "page-faults"
FAULTS_A_SAMPLE = "period=64"
DATA, TEXT = "perf.data", "counts.txt"
TEXT_S = 600.0


class EventCounts(OneProgram):
    """A second ``perf record``, of events instead of the clock."""

    name = "counters"
    about = "instructions, cache misses, branch misses and page faults of the command, by time"
    by_default = False
    file, reader = TEXT, staticmethod(read_event_counts)

    def __init__(self) -> None:
        super().__init__()
        self._events: list[str] = []
        self._begin_ns = 0

    def probe(self) -> Probe:
        """Ask which of the events are there."""
        if shutil.which("perf") is None:
            return Probe(ABSENT, "there is no perf", "install linux-perf (linux-tools)")
        there = _there()
        if not there:
            return Probe(ABSENT, "perf counts nothing here", "kernel.perf_event_paranoid at 2 or below lets users count themselves")
        missing = [each for each in HARDWARE if each not in there]
        if missing:
            return Probe(DEGRADED, f"this machine does not count {', '.join(missing)}", "virtual machines seldom do")
        return Probe(OK, ", ".join(there))

    def follow(self, pid: int) -> None:
        """Attach, and wait until events are counted."""
        self._events = _there()
        events = [word for each in self._events for word in ("-e", _term(each))]
        words = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", *events, "-o", str(self.folder / DATA), "-p", str(pid)]
        self.child.start(words, self.folder, ready=self.folder / DATA)
        self._begin_ns = time.monotonic_ns()

    def stop(self) -> float:
        """End perf, and turn its data into text, which any machine can read."""
        end_ns = time.monotonic_ns()
        spent = super().stop()
        data = filled(self.folder / DATA)
        if data is None:
            return spent
        text = Child()
        with (self.folder / TEXT).open("wb") as file:
            file.write(span_line(self._begin_ns, end_ns, self._events).encode())
            file.flush()
            text.start(["perf", "script", "-i", str(data), "-F", FIELDS], self.folder, stdout=file)
            return spent + text.wait(TEXT_S)


def _term(event: str) -> str:
    """How an event is asked for: the command's own code only, under its own name."""
    return f"{event}/{FAULTS_A_SAMPLE if event == FAULTS else OFTEN},name={event.replace('-', '_')}/u"


def _there() -> list[str]:
    """Events that this machine counts."""
    asked = [*HARDWARE, FAULTS]
    tried = subprocess.run(  # noqa: S603 - perf, on a program that does nothing
        ["perf", "stat", "-x,", "-e", ",".join(f"{each}:u" for each in asked), "--", "true"],  # noqa: S607
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    counted = [line.split(",") for line in tried.stderr.splitlines()]
    names = {plain_event(cells[2]) for cells in counted if len(cells) > 2 and not cells[0].startswith("<")}
    return [each for each in asked if each in names]
