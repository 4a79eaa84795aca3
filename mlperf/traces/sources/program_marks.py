"""Marks that programs set themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mlperf.core.marks import VARIABLE
from mlperf.traces.readers.system.marks import read_marks
from mlperf.traces.sources.by_program import ByProgram
from mlperf.traces.sources.source import OK, Probe, Read


class ProgramMarks(ByProgram):
    """``with region("step"):`` in Python programs, a file for each process."""

    name = "marks"
    about = "regions that the program marks"
    by_default = True

    def probe(self) -> Probe:
        """It needs nothing of the machine."""
        return Probe(OK, "programs say \"with mlperf.traces.recording.region('step'):\"")

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Tells programs where to write."""
        return {VARIABLE: str(folder.resolve())}

    def read(self, folder: Path) -> Read:
        """REGION rows."""
        return Read(read_marks(folder))
