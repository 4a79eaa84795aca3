"""Messages of MPI programs that wrap their communicators, or run under the PMPI library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mlperf.traces.events.matching import match_messages
from mlperf.traces.readers.recorded import PATTERN, read_recorded
from mlperf.traces.sources.bases import ByProgram
from mlperf.traces.sources.source import OK, Probe, Read


class MpiRanks(ByProgram):
    """A file for each rank, written by the recorder inside the program."""

    name = "mpi"
    about = "messages and collective operations of MPI programs"
    by_default = True
    variable = "MLPERF_RECORD_DIR"

    def probe(self) -> Probe:
        """Say which recorder is there."""
        if os.environ.get("MLPERF_RECORDER"):
            return Probe(OK, "the PMPI library that MLPERF_RECORDER names")
        return Probe(
            OK, "programs that wrap their communicators", "mlperf trace record --build . makes a library that needs no change"
        )

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Where ranks write, and the library where one is named."""
        library = os.environ.get("MLPERF_RECORDER", "")
        return dict(super().prepare(folder)) | ({"LD_PRELOAD": library} if Path(library).is_file() else {})

    def read(self, folder: Path) -> Read:
        """Messages, both ends of each joined; where no rank wrote a file, nothing."""
        return Read(match_messages(read_recorded(folder), drop_unmatched=True)) if any(folder.glob(PATTERN)) else Read()
