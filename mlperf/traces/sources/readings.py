"""vmstat and mpstat as sources, for those who want their tables."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mlperf.traces.events.counters import CounterTable
from mlperf.traces.readers.system.sysstat import read_mpstat, read_vmstat
from mlperf.traces.sources.child import Child
from mlperf.traces.sources.source import ABSENT, OK, Probe, Read

TEXT = "readings.txt"


class _Tool:
    """A program that prints a line a second; the source machine reads the same ten times a second."""

    name: str
    about: str
    by_default = False
    words: Sequence[str]
    reader: Callable[[Path], CounterTable]

    def __init__(self) -> None:
        self.child = Child()
        self.folder = Path()

    def probe(self) -> Probe:
        """Look for the program."""
        if shutil.which(self.words[0]) is None:
            return Probe(ABSENT, f"there is no {self.words[0]}; the source machine reads the same", "install procps, sysstat")
        return Probe(OK, "a line a second")

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Remember the folder."""
        self.folder = folder
        return {}

    def follow(self, pid: int) -> None:
        """Begin; it reads the whole machine."""
        del pid
        with (self.folder / TEXT).open("wb") as text:
            self.child.start(self.words, self.folder, stdout=text)

    def stop(self) -> float:
        """End."""
        return self.child.stop(signal.SIGTERM)

    def read(self, folder: Path) -> Read:
        """Series, since 1970 by the machine's local time."""
        text = folder / TEXT
        return Read(counters=type(self).reader(text)) if text.is_file() and text.stat().st_size else Read()


class Vmstat(_Tool):
    """``vmstat -t -n 1``."""

    name, about = "vmstat", "what vmstat prints, a line a second"
    words = ("vmstat", "-t", "-n", "1")
    reader = staticmethod(read_vmstat)


class Mpstat(_Tool):
    """``mpstat -P ALL 1``."""

    name, about = "mpstat", "what mpstat prints of each processor, a line a second"
    words = ("mpstat", "-P", "ALL", "1")
    reader = staticmethod(read_mpstat)
