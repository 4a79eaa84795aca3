"""What sources have in common: those that programs write themselves, and those that a program beside the command records."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from mlperf.traces.events.counters import CounterTable
from mlperf.traces.events.table import EventTable
from mlperf.traces.sources.child import Child
from mlperf.traces.sources.source import OK, InFolder, Probe, Read, filled


class ByProgram:
    """Nothing runs beside the command: what recording takes is in its own processor time.

    Attributes
    ----------
    needs : str
        What programs do that it records.
    variable : str
        Variable that tells them where to write.
    """

    needs: str
    variable: str

    def probe(self) -> Probe:
        """It needs nothing of the machine."""
        return Probe(OK, self.needs)

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Tells programs where to write."""
        return {self.variable: str(folder.resolve())}

    def follow(self, pid: int) -> None:
        """Programs begin by themselves."""

    def stop(self) -> float:
        """Programs end by themselves."""
        return 0.0


class OneProgram(InFolder):
    """A program beside the command.

    Attributes
    ----------
    file : str
        Name of what it writes.
    reader : callable
        Reads that file.
    ends_by : Signals
        What it is asked to end by.
    """

    file: str
    reader: Callable[[Path], EventTable | CounterTable]
    ends_by = signal.SIGINT

    def __init__(self) -> None:
        super().__init__()
        self.child = Child()

    def stop(self) -> float:
        """End it; returns its CPU seconds."""
        return self.child.stop(self.ends_by)

    def read(self, folder: Path) -> Read:
        """Events or series; nothing where it wrote nothing."""
        path = filled(folder / self.file)
        if path is None:
            return Read()
        found = type(self).reader(path)
        return Read(found) if isinstance(found, EventTable) else Read(counters=found)
