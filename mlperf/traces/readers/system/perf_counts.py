"""What ``perf`` counted exactly, and samples weighed by it.

A sampling clock is started anew whenever its thread comes back to a processor, and each start loses some microseconds: threads that
poll and yield have fewer samples than their time is worth (-14 % in ranks that share processors). Counts lose nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.content import not_negative, read_content

CLOCK_EVENTS = ("task-clock", "cpu-clock")
LARGEST_NS = 2**62
_HEAD = re.compile(r"#\s+PID\s+TID\b.*")
_ROW = re.compile(r"\s*(-?\d{1,10})\s+(-?\d{1,10})\s+(\d{1,19})\s*")


@dataclass(frozen=True, slots=True)
class PerfCounts:
    """Processor time by the event's count.

    Attributes
    ----------
    by_thread : dict of (pid, tid) to int
        Nanoseconds of threads that were begun under ``perf`` and have ended.
    total_ns : int, optional
        Of the whole run by a count beside, the thread that ``perf`` was attached to included.
    """

    by_thread: dict[tuple[int, int], int]
    total_ns: int | None = None


def read_perf_counts(threads: Path, total: Path | None = None) -> PerfCounts:
    """Read both files.

    Parameters
    ----------
    threads : Path
        ``perf report --threads --stdio`` of a file that ``perf record --stat`` wrote.
    total : Path, optional
        ``perf stat -x, -e task-clock`` of the same run.

    Raises
    ------
    DataError
        A line below the table's head is no row of it, or a total is no number.
    """
    return PerfCounts(_by_thread(threads), None if total is None else _total_ns(total))


def _by_thread(path: Path) -> dict[tuple[int, int], int]:
    """The table at the end of the text; empty where the file holds no counts."""
    lines = read_content(path).decode("utf-8", "replace").splitlines()
    head = next((at for at, line in enumerate(lines) if _HEAD.fullmatch(line)), len(lines))
    found: dict[tuple[int, int], int] = {}
    for number, line in enumerate(lines[head + 1 :], head + 2):
        if not line.strip() or line.startswith("#"):
            continue
        row = _ROW.fullmatch(line)
        if row is None or int(row[3]) >= LARGEST_NS:
            raise DataError(f"got {line[:60]!r}, expected process, thread and nanoseconds", place=f"{path}, line {number}")
        thread = int(row[1]), int(row[2])
        found[thread] = found.get(thread, 0) + int(row[3])
    return found


def _total_ns(path: Path) -> int | None:
    """The clock's line; None where it was not counted."""
    for number, line in enumerate(read_content(path).decode("utf-8", "replace").splitlines(), 1):
        cells = line.split(",")
        if len(cells) < 4 or cells[2].split(":")[0] not in CLOCK_EVENTS or cells[0].startswith("<"):
            continue
        return round(not_negative(cells[0], f"{path}, line {number}", LARGEST_NS / 1e6, "milliseconds") * 1e6)
    return None


def weighed_by_counts(table: EventTable, counts: PerfCounts) -> EventTable:
    """Let the samples of each thread stand for the time that the thread's count says.

    Parameters
    ----------
    table : EventTable
        SAMPLE rows of one run.
    counts : PerfCounts

    Returns
    -------
    EventTable
        Other weights. A note tells the time of threads that have no sample: they were too short for one.
    """
    samples = table.kind == Kind.SAMPLE
    if not samples.any() or not (counts.by_thread or counts.total_ns):
        return table
    threads, of_row = np.unique(np.stack([table.pid[samples], table.tid[samples]], axis=1), axis=0, return_inverse=True)
    by_samples = np.bincount(of_row.ravel(), weights=table.weight_ns[samples]).astype(float)
    wanted = _wanted_ns(threads, by_samples, counts)
    weight = np.array(table.weight_ns)
    weight[samples] = np.rint(table.weight_ns[samples] * (wanted / np.maximum(by_samples, 1))[of_row.ravel()])
    named = {(int(pid), int(tid)) for pid, tid in threads}
    short = [ns for thread, ns in counts.by_thread.items() if thread not in named and ns]
    notes = [f"{len(short)} threads were too short for a sample: {sum(short) * 1e-6:.1f} ms in all"] if short else []
    return table.replace(weight_ns=weight, notes=(*table.notes, *notes))


def _wanted_ns(threads: IntArray, by_samples: FloatArray, counts: PerfCounts) -> FloatArray:
    """Nanoseconds of each thread: its count, else what its samples say; all in proportion where the total is known.

    The total is of an event without a clock to start, so it is the larger one: what the sampled event loses at each start is in it.
    """
    known = np.array([counts.by_thread.get((int(pid), int(tid)), 0) for pid, tid in threads], dtype=float)
    found = np.where(known > 0, known, by_samples)
    told = found.sum() + sum(counts.by_thread.values()) - known.sum()
    return np.asarray(found * (counts.total_ns / told if counts.total_ns else 1.0))
