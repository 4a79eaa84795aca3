"""Where processors are: samples of ``perf record``."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from mlperf.traces.readers.system.perf_counts import read_perf_counts, weighed_by_counts
from mlperf.traces.readers.system.perf_script import FIELDS, read_perf_script
from mlperf.traces.sources.child import Child
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK, InFolder, Probe, Read, filled

FREQUENCY_HZ = 199
"""A prime, so that no loop keeps step with it."""
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
DATA, TEXT = "perf.data", "perf.txt"
THREADS, TOTAL = "threads.txt", "total.csv"
TEXT_S = 600.0


class PerfSamples(InFolder):
    """``perf record`` attached to the command, its threads and children included."""

    name = "perf"
    about = "samples of where processors are, with stacks"
    by_default = True

    def __init__(self) -> None:
        super().__init__()
        self.child = Child()
        self.counter = Child()
        self.frequency_hz = FREQUENCY_HZ

    def sample(self, frequency_hz: int) -> None:
        """So many samples a second on each processor."""
        self.frequency_hz = frequency_hz

    def probe(self) -> Probe:
        """Try it on a program that does nothing."""
        if shutil.which("perf") is None:
            return Probe(ABSENT, "there is no perf", "install linux-perf (linux-tools)")
        tried = subprocess.run(  # noqa: S603 - perf, on a program that does nothing
            [*self._words(Path("/dev/null")), "--", "true"], capture_output=True, text=True, timeout=10, check=False
        )
        if tried.returncode:
            reason = (tried.stderr.strip().splitlines() or ["it failed"])[0]
            return Probe(
                ABSENT, f"perf is refused: {reason}", "kernel.perf_event_paranoid at 2 or below lets users sample themselves"
            )
        level = _paranoid()
        if level >= 2 and os.geteuid():
            return Probe(DEGRADED, f"perf_event_paranoid is {level}: the command's own code only, not the kernel's")
        return Probe(OK, f"processor clock, {self.frequency_hz} times a second")

    def follow(self, pid: int) -> None:
        """Attach, and wait until samples are taken."""
        # Of the thread that perf is attached to `perf record` keeps no count; `perf stat` counts the run as a whole.
        self.counter.start(["perf", "stat", "-x,", "-e", "task-clock", "-o", str(self.folder / TOTAL), "-p", str(pid)], self.folder)
        # perf writes its data file's header when it has attached.
        self.child.start([*self._words(self.folder / DATA), "-p", str(pid)], self.folder, ready=self.folder / DATA)

    def _words(self, data: Path) -> list[str]:
        """The command without what it samples."""
        clock = ["-e", "cpu-clock", "-F", str(self.frequency_hz), "-k", "CLOCK_MONOTONIC", "--sample-cpu"]
        return ["perf", "record", "-q", "-g", "--stat", *clock, "-o", str(data)]

    def stop(self) -> float:
        """End perf, and turn its data into text, which any machine can read."""
        spent = self.child.stop(signal.SIGINT) + self.counter.stop(signal.SIGINT)
        return spent + _as_text(self.folder)

    def read(self, folder: Path) -> Read:
        """SAMPLE rows, weighed by the exact counts where perf kept them."""
        if filled(folder / TEXT) is None and os.access(folder, os.W_OK) and shutil.which("perf"):
            # Its recorder was killed before it could.
            _as_text(folder)
        text, threads, total = (filled(folder / name) for name in (TEXT, THREADS, TOTAL))
        if text is None:
            return Read()
        samples = read_perf_script(text)
        return Read(samples if threads is None else weighed_by_counts(samples, read_perf_counts(threads, total)))


def _as_text(folder: Path) -> float:
    """Turn perf's data file into text; CPU seconds that it took."""
    data = filled(folder / DATA)
    if data is None:
        return 0.0
    spent = _print(["perf", "script", "-i", str(data), "-F", FIELDS], folder / TEXT)
    return spent + _print(["perf", "report", "-i", str(data), "--threads", "--stdio", "-g", "none", "-s", "comm"], folder / THREADS)


def _print(words: list[str], path: Path) -> float:
    """Keep what a command prints; its CPU seconds."""
    text = Child()
    with path.open("wb") as file:
        text.start(words, path.parent, stdout=file)
        return text.wait(TEXT_S)


def _paranoid() -> int:
    """The system's setting; 2, the usual one, where it cannot be read."""
    try:
        return int(PARANOID.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 2
