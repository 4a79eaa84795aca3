"""Functions of a run with their time and when it was spent: one row for each function, file and group of threads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.kinds import COMMUNICATION, UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.windows import Windows

N_BINS = 128
"""Parts of the run for which activity is kept."""
N_STEP_BINS = 32
"""Parts of a step."""
HEAVIEST = 5000
"""Functions whose activity is kept, by time."""
PLACES: Mapping[str, tuple[Kind, ...]] = {
    "processor": (Kind.SAMPLE,),
    "python": (Kind.STACK,),
    "device": (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.COLL),
    "system calls": (Kind.SYSCALL,),
    "messages": COMMUNICATION,
    "packets": (Kind.PACKET,),
}
"""Whose time an event's is; times of different places are never added up. A collective operation on no device is a message."""
BY_WEIGHT = (Kind.SAMPLE, Kind.STACK)
"""Events that stand for a time; others last it."""


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
    """Unique functions, the most time first.

    Attributes
    ----------
    function, file, thread, place : tuple of str, length n_functions
        Name, object or source file, name of the thread without its number, one of `PLACES`.
    time_ns : array, shape (n_functions,)
        Time together, nanoseconds.
    n_events : array of int64, shape (n_functions,)
    activity : array, shape (min(n_functions, 5000), 128)
        Nanoseconds of the heaviest functions in each part of the run, by where events begin.
    rows : array of int64, shape (n_used,)
        Rows of the event table that were used, by time.
    of_row : array of int32, shape (n_used,)
        Their functions.
    bins : array of uint8, shape (n_used,)
        Their parts of the run.
    weight_ns : array of int64, shape (n_used,)
        Their times.
    """

    function: tuple[str, ...]
    file: tuple[str, ...]
    thread: tuple[str, ...]
    place: tuple[str, ...]
    time_ns: FloatArray
    n_events: IntArray
    activity: FloatArray
    rows: IntArray
    of_row: NDArray[np.int32]
    bins: NDArray[np.uint8]
    weight_ns: IntArray

    def __len__(self) -> int:
        """Number of functions."""
        return len(self.function)


def collapse(events: EventTable, start_ns: int, end_ns: int) -> Functions:
    """Collapse the events of a run to its functions; linear in memory and time.

    Parameters
    ----------
    events : EventTable
    start_ns, end_ns : int
        The run on the table's clock; activity is by its 128 equal parts.
    """
    place = _places(events)
    rows = np.flatnonzero(place >= 0)
    if (np.diff(events.start_ns[rows]) < 0).any():
        rows = rows[np.argsort(events.start_ns[rows], kind="stable")]
    place = place[rows]
    thread, thread_names = _threads(events, rows)
    of_row, keys = _unique(events, rows, place, thread, len(thread_names))
    weight = np.where(np.isin(events.kind[rows], BY_WEIGHT), events.weight_ns[rows], events.duration_ns[rows])
    n = len(keys[0])
    time_ns = np.asarray(np.bincount(of_row, weights=weight.astype(float), minlength=n), dtype=np.float64)
    order = np.argsort(-time_ns, kind="stable")
    rank = np.empty(n, dtype=np.int32)
    rank[order] = np.arange(n, dtype=np.int32)
    of_row = rank[of_row]
    span = max(end_ns - start_ns, 1)
    share = (events.start_ns[rows] - start_ns) / span
    bins = np.clip(np.floor(share * N_BINS), 0, N_BINS - 1).astype(np.uint8)
    names = tuple(PLACES)
    return Functions(
        function=tuple(events.text(keys[2][order])),
        file=tuple(events.text(keys[3][order])),
        thread=tuple(thread_names[number] for number in keys[1][order].tolist()),
        place=tuple(names[number] for number in keys[0][order].tolist()),
        time_ns=time_ns[order],
        n_events=np.bincount(of_row, minlength=n),
        activity=_activity(of_row, bins, weight, min(n, HEAVIEST)),
        rows=rows,
        of_row=of_row,
        bins=bins,
        weight_ns=weight,
    )


def _places(events: EventTable) -> NDArray[np.int8]:
    """Place of each event, -1 for those that are no work of a function."""
    number = np.full(256, UNSET, dtype=np.int8)
    for at, kinds in reversed(list(enumerate(PLACES.values()))):
        number[[int(kind) for kind in kinds]] = at
    found = number[events.kind]
    on_host = (events.kind == Kind.COLL) & (events.device < 0)
    found[on_host] = list(PLACES).index("messages")
    return found


def _threads(events: EventTable, rows: IntArray) -> tuple[IntArray, tuple[str, ...]]:
    """Number of each row's group of threads, and their names: a pool's threads differ by their numbers only."""
    import pandas as pd

    named = dict(events.attributes.get("threads", {}))
    both = events.pid[rows].astype(np.int64) * (1 << 32) + (events.tid[rows].astype(np.int64) & 0xFFFFFFFF)
    codes, threads = pd.factorize(both)
    numbers: dict[str, int] = {}
    group = []
    for thread in threads.tolist():
        pid, tid = thread >> 32, thread & 0xFFFFFFFF
        text = re.sub(r"\d+", "#", str(named.get(f"{pid}/{tid}", "")))
        group.append(numbers.setdefault(text, len(numbers)))
    return np.array(group, dtype=np.int64)[codes], tuple(numbers)


def _unique(
    events: EventTable, rows: IntArray, place: NDArray[np.int8], thread: IntArray, n_threads: int
) -> tuple[NDArray[np.int32], tuple[IntArray, ...]]:
    """Function of each row, and place, thread, name and file of each function."""
    import pandas as pd

    n_texts = len(events.strings) + 1
    sizes = (len(PLACES), max(n_threads, 1), n_texts, n_texts)
    key = place.astype(np.int64) * sizes[1] + thread
    key = (key * n_texts + events.name[rows] + 1) * n_texts + events.name2[rows] + 1
    codes, keys = pd.factorize(key)
    parts = np.unravel_index(np.asarray(keys, dtype=np.int64), sizes)
    return codes.astype(np.int32), (parts[0], parts[1], parts[2] - 1, parts[3] - 1)


def _activity(of_row: NDArray[np.int32], bins: NDArray[np.uint8], weight: IntArray, n: int) -> FloatArray:
    """Time of the first functions in each part of the run; events without a time count as a nanosecond."""
    kept = of_row < n
    place = of_row[kept].astype(np.int64) * N_BINS + bins[kept]
    found = np.bincount(place, weights=np.maximum(weight[kept], 1).astype(float), minlength=n * N_BINS)
    return np.asarray(found, dtype=np.float64).reshape(n, N_BINS)


def in_steps(events: EventTable, functions: Functions, windows: Windows) -> FloatArray:
    """Time of the heaviest functions in each of the 32 parts of a step, summed over steps, shape (n_heaviest, 32).

    What alternates within a step looks alike in parts of the run that are longer than steps, but not here.
    """
    n = len(functions.activity)
    if not len(windows):
        return np.zeros((n, N_STEP_BINS))
    start = events.start_ns[functions.rows]
    step = np.maximum(np.searchsorted(windows.start_ns, start, "right") - 1, 0)
    kept = (functions.of_row < n) & (start >= windows.start_ns[step]) & (start < windows.end_ns[step])
    length = (windows.end_ns - windows.start_ns)[step[kept]]
    part = np.minimum((start[kept] - windows.start_ns[step[kept]]) / length * N_STEP_BINS, N_STEP_BINS - 1).astype(np.int64)
    place = functions.of_row[kept].astype(np.int64) * N_STEP_BINS + part
    weight = np.maximum(functions.weight_ns[kept], 1).astype(float)
    found = np.bincount(place, weights=weight, minlength=n * N_STEP_BINS)
    return np.asarray(found, dtype=np.float64).reshape(n, N_STEP_BINS)
