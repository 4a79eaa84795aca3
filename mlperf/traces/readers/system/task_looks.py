"""Processor time of threads as the scheduler counts it, looked at while a run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.content import whole_lines

Thread = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TaskLooks:
    """Looks at threads that have computed since the look before.

    Attributes
    ----------
    file : str
        Name of the file.
    at_ns : array of int64, shape (n_looks,)
        CLOCK_MONOTONIC.
    pid, tid : array of int64, shape (n_looks,)
        The thread.
    spent_ns : array of int64, shape (n_looks,)
        What it had computed by then.
    names : mapping of (pid, tid) to str
        What threads call themselves.
    notes : tuple of str
        What was left out.
    """

    file: str
    at_ns: IntArray
    pid: IntArray
    tid: IntArray
    spent_ns: IntArray
    names: Mapping[Thread, str]
    notes: tuple[str, ...] = ()

    def last(self) -> dict[Thread, tuple[int, int]]:
        """Of each thread the last look: when, and what it had computed."""
        return dict(zip(self._threads(), zip(self.at_ns.tolist(), self.spent_ns.tolist(), strict=True), strict=True))

    def samples(self) -> EventTable:
        """SAMPLE rows half-way between two looks, ``weight_ns`` what the thread has computed between them.

        They are named ``[thread's name]``: nobody knows which function it was.
        """
        strings = Strings()
        numbers = {thread: strings.number(f"[{name}]") for thread, name in self.names.items()}
        threads = self._threads()
        middle, weight = np.array(self.at_ns), np.array(self.spent_ns)
        before: dict[Thread, int] = {}
        for row, thread in enumerate(threads):
            earlier = before.get(thread)
            if earlier is not None:
                middle[row] = (self.at_ns[earlier] + self.at_ns[row]) // 2
                weight[row] = max(self.spent_ns[row] - self.spent_ns[earlier], 0)
            before[thread] = row
        found = event_table(
            len(middle),
            kind=int(Kind.SAMPLE),
            start_ns=middle,
            pid=self.pid,
            tid=self.tid,
            name=np.array([numbers[thread] for thread in threads], dtype=np.int64),
            weight_ns=weight,
            strings=strings.all(),
            sources=(f"tasks: {self.file}",),
            notes=self.notes,
        )
        return found.take(weight > 0)

    def _threads(self) -> list[Thread]:
        """Of each look."""
        return list(zip(self.pid.tolist(), self.tid.tolist(), strict=True))


def read_task_looks(path: Path) -> TaskLooks:
    """Read what the source ``tasks`` writes: ``N pid tid name`` before a thread's first ``T at_ns pid tid spent_ns``, with tabs.

    Raises
    ------
    DataError
        A line is not of the format; names file and line.
    """
    lines, notes = whole_lines(path)
    names: dict[Thread, str] = {}
    rows: list[list[int]] = []
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        whole = [int(each) for each in fields[1:] if each.isdecimal() and len(each) < 19]
        if fields[0] == "N" and len(fields) == 4 and len(whole) >= 2:
            names[whole[0], whole[1]] = fields[3]
        elif fields[0] == "T" and len(fields) == 5 and len(whole) == 4 and (whole[1], whole[2]) in names:
            rows.append(whole)
        else:
            raise DataError(f"got {line[:40]!r}, expected N or T and its fields", place=f"{path}, line {number}")
    at_ns, pid, tid, spent_ns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return TaskLooks(path.name, at_ns, pid, tid, spent_ns, names, notes)
