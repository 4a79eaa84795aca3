"""Marks that programs set themselves."""

from __future__ import annotations

from pathlib import Path

from mlperf.core.marks import VARIABLE
from mlperf.traces.readers.system.marks import read_marks
from mlperf.traces.sources.bases import ByProgram
from mlperf.traces.sources.source import Read


class ProgramMarks(ByProgram):
    """``with region("step"):`` in Python programs, a file for each process."""

    name = "marks"
    about = "regions that the program marks"
    by_default = True
    needs, variable = "programs say \"with mlperf.traces.recording.region('step'):\"", VARIABLE

    def read(self, folder: Path) -> Read:
        """REGION rows."""
        return Read(read_marks(folder))
