"""Files of PyTorch's profiler that the program writes itself."""

from __future__ import annotations

from pathlib import Path

from mlperf.traces.recording.torch_profile import VARIABLE
from mlperf.traces.sources.bases import ByProgram
from mlperf.traces.sources.source import Read


class TorchFiles(ByProgram):
    """``with mlperf.traces.recording.torch_profile():`` puts its trace where this source reads it."""

    name = "torch"
    about = "kernels, copies and operators of PyTorch's profiler, where the program runs it"
    by_default = True
    needs, variable = 'programs say "with mlperf.traces.recording.torch_profile():"', VARIABLE

    def read(self, folder: Path) -> Read:
        """All files as one table."""
        from mlperf.traces.readers.chrome.job import read_job

        found = sorted((*folder.glob("*.json"), *folder.glob("*.json.gz")))
        return Read(read_job(found, None)) if found else Read()
