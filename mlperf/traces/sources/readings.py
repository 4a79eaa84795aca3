"""vmstat and mpstat as sources, for those who want their tables."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence

from mlperf.traces.readers.system.sysstat import read_mpstat, read_vmstat
from mlperf.traces.sources.bases import OneProgram
from mlperf.traces.sources.source import ABSENT, OK, Probe

TEXT = "readings.txt"


class _Tool(OneProgram):
    """A program that prints a line a second; the source machine reads the same ten times a second."""

    name: str
    about: str
    by_default = False
    words: Sequence[str]
    file, ends_by = TEXT, signal.SIGTERM

    def probe(self) -> Probe:
        """Look for the program."""
        if shutil.which(self.words[0]) is None:
            return Probe(ABSENT, f"there is no {self.words[0]}; the source machine reads the same", "install procps, sysstat")
        return Probe(OK, "a line a second")

    def follow(self, pid: int) -> None:
        """Begin; it reads the whole machine."""
        del pid
        with (self.folder / TEXT).open("wb") as text:
            self.child.start(self.words, self.folder, stdout=text)


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
