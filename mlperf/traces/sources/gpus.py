"""What GPUs are busy with: series of nvidia-smi, and how they are linked."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from mlperf.traces.readers.system.nvidia_smi import read_nvidia_smi
from mlperf.traces.sources.bases import OneProgram
from mlperf.traces.sources.source import ABSENT, OK, Probe

PROGRAM = "nvidia-smi"
QUERY = "timestamp,index,utilization.gpu,utilization.memory,memory.used,power.draw,clocks.current.sm,temperature.gpu"
SERIES, TOPOLOGY = "series.csv", "topology.txt"
EVERY_MS = 200
LIMIT_S = 10


class Gpus(OneProgram):
    """``nvidia-smi`` five times a second, and its table of links once."""

    name = "nvidia-smi"
    about = "utilisation, memory, power and clocks of NVIDIA GPUs, and their links"
    by_default = True
    file, reader, ends_by = SERIES, staticmethod(read_nvidia_smi), signal.SIGTERM

    def probe(self) -> Probe:
        """Ask it for its list."""
        if shutil.which(PROGRAM) is None:
            return Probe(ABSENT, "there is no nvidia-smi")
        tried = subprocess.run([PROGRAM, "-L"], capture_output=True, text=True, timeout=LIMIT_S, check=False)  # noqa: S603
        if tried.returncode or "GPU" not in tried.stdout:
            return Probe(ABSENT, f"it finds no GPU: {(tried.stderr or tried.stdout).strip()[:80]}")
        return Probe(OK, f"{tried.stdout.count('GPU ')} GPUs")

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Keep the links between the GPUs."""
        super().prepare(folder)
        found = subprocess.run([PROGRAM, "topo", "-m"], capture_output=True, timeout=LIMIT_S, check=False)  # noqa: S603
        if not found.returncode:
            (folder / TOPOLOGY).write_bytes(found.stdout)
        return {}

    def follow(self, pid: int) -> None:
        """Begin; it reads whole GPUs, whoever uses them."""
        del pid
        file = self.folder / SERIES
        words = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv", "-lms", str(EVERY_MS), "-f", str(file)]
        self.child.start(words, self.folder, ready=file)
