"""All ranks of a job, however they lie in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.chrome.reader import read_rank_files
from mlperf.traces.readers.registry import format_of, read_trace


def read_job(paths: Sequence[Path | str], ranks: Sequence[int] | None = None) -> EventTable:
    """Read one trace of any format, a folder with a file for each rank, or several profiler's files as the ranks of one job.

    Raises
    ------
    UsageError
        Several files of which one is no profiler's; as many ranks as files are needed.
    DataError
        As `read_trace` and `read_rank_files`.
    """
    if len(paths) == 1 and ranks is None:
        return read_trace(Path(paths[0]), drop_unmatched=True)
    for path in paths:
        if Path(path).is_dir() or format_of(Path(path)) != "chrome":
            raise UsageError(
                f"{path} is no trace of one rank: several files must be profiler's JSON", hint="One folder holds all ranks."
            )
    return read_rank_files(paths, ranks)
