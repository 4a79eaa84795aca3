"""Where the threads of Python programs stand, running or waiting, and their garbage collections."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mlperf.traces.readers.system.python_stacks import read_python_stacks
from mlperf.traces.sources.bases import ByProgram
from mlperf.traces.sources.source import Read

INJECTED = Path(__file__).parent / "injected"
EVERY_S = 0.02
SAMPLES_A_STACK = 4
"""Stacks of all threads cost more than a sample of one processor."""


class PythonStacks(ByProgram):
    """A thread inside every Python process of the run, from a ``sitecustomize`` put in front of its path."""

    name = "python"
    about = "stacks of all threads of Python programs, 50 times a second, and garbage collections"
    by_default = True
    needs, variable = "programs that ignore PYTHONPATH (python -I, -E, -S) record none", "MLPERF_PYTHON_STACKS"

    def __init__(self) -> None:
        self.every_s = EVERY_S

    def sample(self, frequency_hz: int) -> None:
        """One stack of each thread for every four samples of a processor."""
        self.every_s = SAMPLES_A_STACK / frequency_hz

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Variables that make Python load it."""
        before = os.environ.get("PYTHONPATH", "")
        path = f"{INJECTED}{os.pathsep}{before}" if before else str(INJECTED)
        return {"PYTHONPATH": path, **super().prepare(folder), "MLPERF_PYTHON_STACKS_EVERY_S": str(self.every_s)}

    def read(self, folder: Path) -> Read:
        """STACK rows, and REGION rows named ``gc``."""
        return Read(read_python_stacks(folder))
