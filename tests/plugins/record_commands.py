"""Commands on recordings, run on a trace file in the place of one."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_recordings import MS, Made

from mlperf.cli.main import main
from mlperf.traces.writers.store import write_store


def run_record(*words: str | Path) -> int:
    """The exit code of ``mlperf record`` with these words."""
    with pytest.raises(SystemExit) as left:
        main(["record", *map(str, words)])
    return int(left.value.code or 0)


def trace_with_steps(folder: Path) -> Path:
    """Nine marked steps of 100 ms, of which 40 ms load."""
    maker, at = Made(), 0
    for _ in range(9):
        at = maker.marks(at, {"load": 40 * MS, "forward": 60 * MS})
    write_store(maker.recording().events, folder / "run.npz")
    return folder / "run.npz"


def trace_without_steps(folder: Path) -> Path:
    """Samples of one function, nothing that repeats."""
    maker = Made()
    maker.samples(0, 50 * MS, "main")
    write_store(maker.recording().events, folder / "run.npz")
    return folder / "run.npz"
