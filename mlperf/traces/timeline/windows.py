"""Steps of a training run as windows of time: by markers, else by what repeats."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable

STEP = re.compile(r"(?:ProfilerStep|XLA step)#(\d+)")
DEVICE_STEP = "gpu_user_annotation"
DEVICE_KINDS = (Kind.KERNEL, Kind.COLL, Kind.MEMCPY, Kind.MEMSET)
HINT = "--marker REGEX names the calls that are one step each; --whole takes the recording as one."


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Steps of one rank.

    Attributes
    ----------
    rank : int
    number : array of int64, shape (n_steps,)
        What the marker says, else 0, 1, ...
    start_ns, end_ns : array of int64
    origin : str
        ``"marks on the device"``, ``"marks on the host"``, ``"whole recording"``, or what found them.
    """

    rank: int
    number: IntArray
    start_ns: IntArray
    end_ns: IntArray
    origin: str

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.number)


def marked_steps(
    table: EventTable, rank: int, marker: str | None = None, *, on_host: bool = False, own_ends: bool = False
) -> Windows | None:
    """Steps of a rank by its markers, None where it has none.

    Marks on the device (``gpu_user_annotation``) bound what the device did for a step. Marks on the host do not: there a step lasts
    to the start of the next one, the last one to the end of its own mark or of what was launched in it, whichever is later; so does
    one that the profiler's next number does not follow, since it paused in between. A mark that is listed twice is one; marks of
    one step on several streams are one, from the first start to the last end.

    Parameters
    ----------
    table : EventTable
    rank : int
    marker : str, optional
        Regular expression for other names than ``ProfilerStep#n`` and ``XLA step#n`` (JAX, TensorFlow); its first group, if any, is
        the step's number.
    on_host : bool
        Only marks on the host.
    own_ends : bool
        Of marks on the host, steps that end with their own: what a program does between two, an evaluation say, is no part of
        either.

    Raises
    ------
    DataError
        The marker is no regular expression.
    """
    pattern = compiled_marker(marker)
    named = np.array([bool(pattern.search(text)) for text in table.strings] + [False], dtype=bool)
    rows = np.flatnonzero((table.rank == rank) & (table.kind == Kind.REGION) & named[table.name])
    on_device = np.isin(table.name2[rows], _texts(table, DEVICE_STEP))
    of_device = bool(on_device.any()) and not on_host
    rows = rows[on_device == of_device]
    if not len(rows):
        return None
    rows = _once(table, rows)
    start, end = table.start_ns[rows], table.end_ns[rows].copy()
    if of_device:
        rows, end = _over_streams(table, rows)
        start = table.start_ns[rows]
    elif own_ends:
        return Windows(rank, _numbers(table, rows, pattern), start, end, "marks of the program")
    else:
        last = np.append(_is_followed_by_nothing(table, rows, pattern), True)
        for each in np.flatnonzero(last).tolist():
            end[each] = max(int(end[each]), _last_launched(table, rank, int(start[each]), int(end[each])))
        end[:-1] = np.where(last[:-1], end[:-1], start[1:])
    # A device may still work for a step when the next one's first kernel starts on another stream: time is counted once.
    end[:-1] = np.minimum(end[:-1], start[1:])
    origin = f"marks on the {'device' if of_device else 'host'}"
    return Windows(rank, _numbers(table, rows, pattern), start, end, origin)


def whole_recording(table: EventTable, rank: int) -> Windows:
    """The recording of a rank as one step: from the first start to the last end of what has a duration."""
    rows = np.flatnonzero((table.rank == rank) & (table.kind != Kind.MARK))
    if not len(rows):
        raise DataError(f"rank {rank} has no events with a duration", place=", ".join(table.sources))
    span = np.array([[table.start_ns[rows].min(), table.end_ns[rows].max()]], dtype=np.int64)
    return Windows(rank, np.zeros(1, dtype=np.int64), span[:, 0], span[:, 1], "whole recording")


def compiled_marker(marker: str | None) -> re.Pattern[str]:
    """The marker's pattern; UsageError: it is no regular expression."""
    if marker is None:
        return STEP
    try:
        return re.compile(marker)
    except re.error as error:
        hint = "A character that means itself has a backslash before it: \\(."
        raise UsageError(f"got {marker!r}, expected a regular expression ({error})", place="marker", hint=hint) from None


def _texts(table: EventTable, text: str) -> list[int]:
    """Numbers of a text."""
    return [number for number, each in enumerate(table.strings) if each == text]


def _once(table: EventTable, rows: IntArray) -> IntArray:
    """Rows by start; of those that are the same mark listed again, the first."""
    keys = (table.duration_ns, table.name, table.tid, table.pid, table.stream, table.device, table.start_ns)
    rows = rows[np.lexsort(tuple(key[rows] for key in keys))]
    same = np.all([key[rows[1:]] == key[rows[:-1]] for key in keys], axis=0)
    kept = rows[np.append(True, ~same)]
    in_order: IntArray = kept[np.argsort(table.start_ns[kept], kind="stable")]
    return in_order


def _over_streams(table: EventTable, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Of steps whose marks stand on several streams the first mark, and the last end: the same name, as often before there."""
    marks = pd.DataFrame({"device": table.device[rows], "stream": table.stream[rows], "name": table.name[rows]})
    marks["before"] = marks.groupby(["device", "stream", "name"]).cumcount()
    marks["row"], marks["end"] = rows, table.end_ns[rows]
    steps = marks.groupby(["name", "before"], sort=False).agg({"row": "first", "end": "max"})
    return steps["row"].to_numpy(), steps["end"].to_numpy(copy=True)


def _numbers(table: EventTable, rows: IntArray, pattern: re.Pattern[str]) -> IntArray:
    """What the markers count, or their order."""
    told = [pattern.search(text) for text in table.text(table.name[rows])]
    words = [found[1] if found and found.re.groups and found[1] else "" for found in told]
    if all(word.isdigit() and len(word) < 10 for word in words):
        return np.array([int(word) for word in words], dtype=np.int64)
    return np.arange(len(rows))


def _is_followed_by_nothing(table: EventTable, rows: IntArray, pattern: re.Pattern[str]) -> BoolArray:
    """After which marks but the last a profiler left out steps, shape (n_rows - 1,): it numbers all of them, recorded or not."""
    if pattern is not STEP:
        return np.zeros(len(rows) - 1, dtype=bool)
    paused: BoolArray = np.diff(_numbers(table, rows, pattern)) != 1
    return paused


def _last_launched(table: EventTable, rank: int, since_ns: int, until_ns: int) -> int:
    """Latest end of what a rank launched between two moments; 0 where nothing was. Of a mark without a length, since it."""
    made = np.isin(table.kind, [int(kind) for kind in DEVICE_KINDS]) & (table.rank == rank) & (table.match != UNSET)
    rows = np.flatnonzero(made)
    launched_ns = table.start_ns[table.match[rows]]
    rows = rows[(launched_ns >= since_ns) & ((launched_ns < until_ns) | (until_ns == since_ns))]
    return int(table.end_ns[rows].max(initial=0))
