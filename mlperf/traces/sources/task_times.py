"""Processor time of every thread, from /proc: what tells who computes where ``perf`` is not to be had."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.sources.perf_samples import TEXT, PerfSamples
from mlperf.traces.sources.process_tree import PROC, tree_of
from mlperf.traces.sources.source import ABSENT, DEGRADED, Probe, Read

FILE = "tasks.txt"
LEAST_S = 0.01
OF_ONE_CORE = 0.02
"""Looks are as far apart as keep them below this share of a core."""


class TaskTimes:
    """Looks at ``/proc/PID/task/TID/schedstat`` of all processes of the run, up to a hundred a second."""

    name = "tasks"
    about = "processor time of every thread, where perf cannot take samples: who computes, not what"

    def __init__(self, proc: Path = PROC) -> None:
        self._proc, self._pid, self._folder = proc, 0, Path()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._spent_s = 0.0

    @property
    def by_default(self) -> bool:
        """Only in the place of perf's samples."""
        try:
            return PerfSamples().probe().status == ABSENT
        except OSError:
            return True

    def probe(self) -> Probe:
        """Look for our own."""
        if not (self._proc / str(os.getpid()) / "task" / str(os.getpid()) / "schedstat").is_file():
            return Probe(ABSENT, "there is no /proc/PID/task/TID/schedstat", "it is there on Linux, where the kernel keeps it")
        return Probe(DEGRADED, "who computes, not what: no functions")

    def prepare(self, folder: Path) -> Mapping[str, str]:
        """Remember the folder."""
        self._folder = folder
        return {}

    def follow(self, pid: int) -> None:
        """Begin."""
        self._pid = pid
        self._thread = threading.Thread(target=self._run, args=(self._folder / FILE,), name="mlperf tasks", daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """End; returns CPU seconds that it took."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        return self._spent_s

    def read(self, folder: Path) -> Read:
        """SAMPLE rows; none where perf took its own, which tell more."""
        own, other = folder / FILE, folder.parent / PerfSamples.name / TEXT
        if not own.is_file() or (other.is_file() and other.stat().st_size):
            return Read()
        return Read(read_task_times(own))

    def _run(self, path: Path) -> None:
        begun, known = time.thread_time(), dict[tuple[int, int], int]()
        with path.open("w", encoding="utf-8", buffering=1 << 16) as file:
            while not self._end.is_set():
                before = time.thread_time()
                self._look(file, known)
                self._end.wait(max(LEAST_S, (time.thread_time() - before) / OF_ONE_CORE))
            self._look(file, known)
        self._spent_s = time.thread_time() - begun

    def _look(self, file: IO[str], known: dict[tuple[int, int], int]) -> None:
        """A line for each thread that has computed since the last look."""
        for pid in tree_of(self._proc, self._pid):
            for task in (self._proc / str(pid) / "task").glob("*"):
                spent_ns, thread = _spent_ns(task), (pid, int(task.name))
                if spent_ns is None:
                    continue
                if thread not in known:
                    file.write(f"N\t{pid}\t{thread[1]}\t{_name(task)}\n")
                if spent_ns > known.get(thread, -1):
                    known[thread] = spent_ns
                    file.write(f"T\t{time.monotonic_ns()}\t{pid}\t{thread[1]}\t{spent_ns}\n")


def _spent_ns(task: Path) -> int | None:
    """Processor time of a thread; None where it is gone."""
    try:
        return int((task / "schedstat").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _name(task: Path) -> str:
    """What the thread calls itself."""
    try:
        text = (task / "comm").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "?"
    return "".join(each if each.isprintable() else "?" for each in text.strip())


def read_task_times(path: Path) -> EventTable:
    """Read such a file.

    Returns
    -------
    EventTable
        SAMPLE rows half-way between two looks, ``weight_ns`` what the thread has computed between them; named ``[thread's name]``,
        for nobody knows which function it was.

    Raises
    ------
    DataError
        A line is not of the format; names file and line.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    notes = [f"{path.name}: the last line is cut off and left out"] if lines.pop() else []
    strings, names = Strings(), dict[tuple[int, int], int]()
    last: dict[tuple[int, int], tuple[int, int]] = {}
    rows: list[tuple[int, ...]] = []
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        whole = [int(each) for each in fields[1:] if each.isdigit() and len(each) < 19]
        if fields[0] == "N" and len(fields) == 4 and len(whole) >= 2:
            names[whole[0], whole[1]] = strings.number(f"[{fields[3]}]")
        elif fields[0] == "T" and len(fields) == 5 and len(whole) == 4 and tuple(whole[1:3]) in names:
            at, pid, tid, spent = whole
            before, so_far = last.get((pid, tid), (at, 0))
            last[pid, tid] = at, spent
            rows.append(((before + at) // 2, pid, tid, names[pid, tid], max(spent - so_far, 0)))
        else:
            raise DataError(f"got {line[:40]!r}, expected N or T and its fields", place=f"{path}, line {number}")
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5)
    columns = columns[columns[:, 4] > 0]
    return event_table(
        len(columns),
        kind=int(Kind.SAMPLE),
        start_ns=columns[:, 0],
        pid=columns[:, 1],
        tid=columns[:, 2],
        name=columns[:, 3],
        weight_ns=columns[:, 4],
        strings=strings.all(),
        sources=(f"tasks: {path.name}",),
        notes=notes,
    )
