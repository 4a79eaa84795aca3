"""Nsight Systems around the command, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mlperf.traces.events.kinds import UNSET
from mlperf.traces.events.table import event_table
from mlperf.traces.readers.system.nsys_sqlite import read_nsys
from mlperf.traces.sources.source import ABSENT, OK, InFolder, Probe, Read

REPORT, BASE = "report.nsys-rep", "report.sqlite"
LIMIT_S = 600
SINCE_1970_NS = 10**18
"""Times after 2001; a report without its beginning counts from that."""


class Nsight(InFolder):
    """A session that the program joins by itself where it was started under ``nsys launch``; off by default.

    Nsight cannot attach to a program that runs, so that this source reads what a command line like
    ``nsys profile -o DIR/nsys/report python train.py`` leaves in its folder: the folder is told to the program as
    ``MLPERF_NSYS_REPORT``.
    """

    name = "nsys"
    about = "kernels, copies and calls by Nsight Systems, where the command runs under nsys profile -o $MLPERF_NSYS_REPORT"
    by_default = False

    def probe(self) -> Probe:
        """Look for the program."""
        if shutil.which("nsys") is None:
            return Probe(ABSENT, "there is no nsys", "install Nsight Systems")
        return Probe(OK, "reads the report that the command's own nsys profile -o $MLPERF_NSYS_REPORT writes")

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Where the report goes."""
        super().prepare(folder)
        return {"MLPERF_NSYS_REPORT": str((folder / REPORT.removesuffix(".nsys-rep")).resolve())}

    def follow(self, pid: int) -> None:
        """The command's own profiler records."""

    def stop(self) -> float:
        """Turn the report into tables, which any machine can read."""
        if (self.folder / REPORT).is_file():
            words = ["nsys", "export", "--type", "sqlite", "-o", str(self.folder / BASE), str(self.folder / REPORT)]
            subprocess.run(words, capture_output=True, timeout=LIMIT_S, check=False)  # noqa: S603 - Nsight's own command
        return 0.0

    def read(self, folder: Path) -> Read:
        """KERNEL, MEMCPY, API and REGION rows; none, with a note, where the report does not tell when it began."""
        if not (folder / BASE).is_file():
            return Read()
        found = read_nsys(folder / BASE)
        if found.origin_ns < SINCE_1970_NS:
            note = f"nsys: {BASE} tells no time since 1970: its {len(found)} activities are left out (a later nsys tells it)"
            return Read(event_table(0, notes=(note,)))
        # One report holds all processes: whose rank is whose, the recording's other sources tell.
        return Read(found.replace(rank=np.where(found.pid == UNSET, found.rank, UNSET).astype(np.int32)))
