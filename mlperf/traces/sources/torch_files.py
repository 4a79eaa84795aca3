"""Files of PyTorch's profiler that the program writes itself."""

from __future__ import annotations

import re
from pathlib import Path

from mlperf.traces.recording.torch_traces import VARIABLE
from mlperf.traces.sources.bases import ByProgram
from mlperf.traces.sources.source import Read

_PART = re.compile(r"(trace-\d+)(?:-\d+)?\.json(?:\.gz)?")
"""Files of one process, as `torch_profile` names them."""


class TorchFiles(ByProgram):
    """``with mlperf.traces.recording.torch_profile():`` puts its trace where this source reads it."""

    name = "torch"
    about = "kernels, copies and operators of PyTorch's profiler, where the program runs it"
    by_default = True
    needs, variable = 'programs say "with mlperf.traces.recording.torch_profile():"', VARIABLE

    def read(self, folder: Path) -> Read:
        """All files as one table; a file that is there packed, too, once."""
        from mlperf.traces.readers.chrome.reader import read_process_files

        packed = [path for path in folder.glob("*.json.gz") if not path.with_suffix("").exists()]
        processes: dict[str, list[Path]] = {}
        for path in sorted((*folder.glob("*.json"), *packed)):
            found = _PART.fullmatch(path.name)
            processes.setdefault(found[1] if found else path.name, []).append(path)
        return Read(read_process_files(processes)) if processes else Read()
