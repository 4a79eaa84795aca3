"""Marks of one process in a file of its own, cheap enough to stand in a loop."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import IO

VARIABLE = "MLPERF_MARKS"
"""Folder of the marks; set by ``mlperf record``."""
RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK")
"""Variables in which launchers tell a process its rank, the surest first."""
LAUNCHERS = (
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("RANK", "WORLD_SIZE"),
)
"""Variables of launchers that tell a process its rank and how many there are; a batch script of Slurm is no step."""
SUFFIX = ".marks"
FLUSH_NS = 250_000_000


class MarkWriter:
    """Lines ``begin end thread bytes name`` separated by tabs, nanoseconds of CLOCK_MONOTONIC; the first line names the rank.

    A mark is written when it ends, a mark that never ends when the process does.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: threading.Lock
        self._local: threading.local
        self._open: dict[int, list[tuple[str, int, int]]]
        self._flushed: int
        self._file: IO[str]
        self._begin_file()
        atexit.register(self.close)
        # A child that drops the parent's file would write what is still in its buffer once more.
        os.register_at_fork(before=self._flush, after_in_child=self._begin_file)

    def begin(self, name: str, size_bytes: int = 0) -> None:
        """Open a mark on this thread."""
        try:
            stack = self._local.stack
        except AttributeError:
            stack = self._local.stack = self._open.setdefault(threading.get_native_id(), [])
            self._local.tid = threading.get_native_id()
        stack.append((name, size_bytes, time.monotonic_ns()))

    def end(self, _name: str = "") -> None:
        """Close this thread's innermost mark; one that is closed already, or a parent's before a fork, is left alone."""
        now = time.monotonic_ns()
        stack = getattr(self._local, "stack", None)
        if not stack:
            return
        name, size_bytes, begun = stack.pop()
        self._write(begun, now, self._local.tid, size_bytes, name)

    def known(self, begun_ns: int, ended_ns: int, name: str) -> None:
        """A mark on this thread that somebody else has timed, by the same clock."""
        self._write(begun_ns, ended_ns, threading.get_native_id(), 0, name)

    def close(self) -> None:
        """Write what is still open as if it ended now, and flush."""
        now = time.monotonic_ns()
        for tid, stack in self._open.items():
            while stack:
                name, size_bytes, begun = stack.pop()
                self._write(begun, now, tid, size_bytes, name)
        self._flush()

    def _flush(self) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.flush()

    def _write(self, begun: int, ended: int, tid: int, size_bytes: int, name: str) -> None:
        with self._lock:
            self._file.write(f"{begun}\t{ended}\t{tid}\t{size_bytes}\t{name}\n")
            # A process that is killed loses the last quarter of a second at most.
            if ended - self._flushed > FLUSH_NS:
                self._file.flush()
                self._flushed = ended

    def _begin_file(self) -> None:
        """A file for this process; marks that a parent had open are the parent's."""
        self._lock = threading.Lock()
        self._local, self._open, self._flushed = threading.local(), {}, 0
        path = self._folder / f"{os.getpid()}{SUFFIX}"
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1 << 16)
        self._file.write(f"# rank {rank_of_process()}\n")


@cache
def mark_writer() -> MarkWriter | None:
    """The process's own file of marks, where ``mlperf record`` asks for it."""
    folder = os.environ.get(VARIABLE, "")
    return MarkWriter(Path(folder)) if folder and Path(folder).is_dir() else None


def mark_laps(name: str, parts: Sequence[str], moments_s: Sequence[float]) -> None:
    """Mark something that was timed, and its parts that follow one another; nothing where no recorder asks for marks.

    Parameters
    ----------
    name : str
    parts : sequence of str
    moments_s : sequence of float, length one more than ``parts``
        Begin, and end of each part, by `time.perf_counter`.
    """
    writer = mark_writer()
    if writer is None:
        return
    # Marks are on CLOCK_MONOTONIC; the stopwatch is on the same clock here, elsewhere at a distance that stays.
    apart = time.monotonic_ns() - time.perf_counter_ns()
    ends = [round(each * 1e9) + apart for each in moments_s]
    writer.known(ends[0], ends[-1], name)
    for part, (begun, ended) in zip(parts, pairwise(ends), strict=True):
        writer.known(begun, ended, part)


def rank_of_process() -> int:
    """What the launcher told this process; -1 for none."""
    for name in RANKS:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return -1


def launched_rank() -> int:
    """Rank among several that a launcher started; -1 for a process alone, also where somebody exported ``RANK``."""
    for rank, size in LAUNCHERS:
        own, all_of_them = os.environ.get(rank, ""), os.environ.get(size, "")
        if own.isdigit() and all_of_them.isdigit() and int(all_of_them) > 1:
            return int(own)
    return -1
