"""Processor time of every thread, from /proc: what samples are weighed by, and who computes where there are none."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import IO

from mlperf.core.proc import tasks_of, text_of
from mlperf.traces.readers.system.task_looks import read_task_looks
from mlperf.traces.sources.process_tree import PROC, tree_of
from mlperf.traces.sources.source import ABSENT, OK, InFolder, Probe, Read, WritingThread

FILE = "tasks.txt"
LEAST_S = 0.01
OF_ONE_CORE = 0.02
"""Looks are as far apart as keep them below this share of a core."""


class TaskTimes(InFolder):
    """Looks at ``/proc/PID/task/TID/schedstat`` of all processes of the run, up to a hundred a second."""

    name = "tasks"
    about = "processor time of every thread as the scheduler counts it: samples are weighed by it"
    by_default = True

    def __init__(self, proc: Path = PROC) -> None:
        super().__init__()
        self._proc, self._pid = proc, 0
        self._end = threading.Event()
        self._thread: WritingThread | None = None
        self._spent_s = 0.0

    def probe(self) -> Probe:
        """Look for our own."""
        if not (self._proc / str(os.getpid()) / "task" / str(os.getpid()) / "schedstat").is_file():
            return Probe(ABSENT, "there is no /proc/PID/task/TID/schedstat", "it is there on Linux, where the kernel keeps it")
        return Probe(OK, "/proc/PID/task/TID/schedstat")

    def follow(self, pid: int) -> None:
        """Begin."""
        self._pid = pid
        self._thread = WritingThread(partial(self._run, self.folder / FILE), "tasks")
        self._thread.start()

    def stop(self) -> float:
        """End; returns CPU seconds that it took. OSError: what it saw could not be written."""
        self._end.set()
        if self._thread is not None:
            self._thread.finish()
        return self._spent_s

    def read(self, folder: Path) -> Read:
        """What the scheduler counted."""
        return Read(looks=read_task_looks(folder / FILE)) if (folder / FILE).is_file() else Read()

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
            for task in tasks_of(self._proc / str(pid)):
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
    text = text_of(task / "comm") or "?"
    return "".join(each if each.isprintable() else "?" for each in text.strip())
