"""Which line of a drawn timeline each event belongs on, and from when to when it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import HOST, UNSET, Kind
from mlperf.traces.events.table import EventTable, is_held

GROUPS: Mapping[str, tuple[Kind, ...]] = {
    "marks": (Kind.REGION, Kind.MARK),
    "Python stacks": (Kind.STACK,),
    "processor samples": (Kind.SAMPLE,),
    "computation": (Kind.COMPUTE,),
    "messages": (Kind.SEND, Kind.RECV, Kind.ISEND, Kind.IRECV, Kind.WAIT, Kind.COLL),
    "device calls": (Kind.API,),
    "device work": (Kind.KERNEL, Kind.MEMSET),
    "copies": (Kind.MEMCPY,),
    "system calls": (Kind.SYSCALL,),
    "input and output": (Kind.IO,),
    "packets": (Kind.PACKET,),
}
"""What lines show, in the order in which a thread's lines stand."""
ON_DEVICE = ("device work", "copies")
SAMPLED = (Kind.SAMPLE, Kind.STACK)
MOST_LANES = 30_000


@dataclass(frozen=True, slots=True)
class Lane:
    """One line.

    Attributes
    ----------
    group : str
        Of `GROUPS`.
    rank, pid, tid, device, stream : int
        Where; -1 unset.
    label : str
        The thread's or stream's name.
    """

    group: str
    rank: int
    pid: int
    tid: int
    device: int
    stream: int
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class EventLanes:
    """Events by line and time.

    Attributes
    ----------
    lanes : tuple of Lane
        By rank, process, thread, group.
    rows : array of int64, shape (n_drawn,)
        Rows of the table, those of one line behind one another, each line's by time.
    first : array of int64, shape (n_lanes + 1,)
        Where each line's rows begin in `rows`.
    start_ns, end_ns : array of int64, shape (n_drawn,)
        From when to when each is drawn.
    """

    lanes: tuple[Lane, ...]
    rows: IntArray
    first: IntArray
    start_ns: IntArray
    end_ns: IntArray


def event_lanes(events: EventTable) -> EventLanes:
    """Give every event its line.

    Notes
    -----
    Threads have lines of marks, stacks, samples, calls; devices of work and of copies by stream; packets one line a rank. A sample
    says what ran before it: it is drawn from as much before as it stands for, at most from the sample before on the same line.
    """
    if not len(events):
        nothing = np.zeros(0, dtype=np.int64)
        return EventLanes((), nothing, np.zeros(1, dtype=np.int64), nothing, nothing)
    order = np.arange(len(events)) if _by_time(events.start_ns) else np.argsort(events.start_ns, kind="stable")
    number, lanes = _numbered(events)
    number = number[order]
    # Sixteen bits are sorted by radix: ten million rows in a fraction of a second.
    small = number.astype(np.int16) if len(lanes) < MOST_LANES else number
    rows = order[np.argsort(small, kind="stable")]
    counts = np.bincount(number, minlength=len(lanes))
    first = np.concatenate(([0], np.cumsum(counts)))
    start, end = _drawn(events, rows, first)
    return EventLanes(lanes, rows, first, start, end)


def _by_time(time_ns: IntArray) -> bool:
    return bool((time_ns[1:] >= time_ns[:-1]).all())


def _group_numbers(events: EventTable) -> IntArray:
    """Number of each event's group; operations of a device that message passing names stand with the device's work."""
    by_kind = np.full(256, len(GROUPS) - 1, dtype=np.int64)
    for number, kinds in enumerate(GROUPS.values()):
        by_kind[[int(kind) for kind in kinds]] = number
    found = by_kind[events.kind]
    names = list(GROUPS)
    if is_held(events.device):
        found[(events.kind == Kind.COLL) & (events.device >= 0)] = names.index("device work")
    return found


def _numbered(events: EventTable) -> tuple[IntArray, tuple[Lane, ...]]:
    """Number of each event's line, and the lines by number."""
    group = _group_numbers(events)
    names = list(GROUPS)
    device = np.isin(group, [names.index(name) for name in ON_DEVICE])
    nowhere = group == names.index("packets")
    columns = [
        _where(events.rank, None),
        _where(events.pid, device | nowhere),
        _where(events.device, ~device),
        _where(events.tid, device | nowhere),
        _where(events.stream, ~device),
        group,
    ]
    code = np.zeros(len(events), dtype=np.int64)
    for values in columns:
        if values is None:
            continue
        own, known = pd.factorize(values)
        code, _ = pd.factorize(code * len(known) + own)
    _, at = np.unique(code, return_index=True)
    keys = [tuple(UNSET if values is None else int(values[row]) for values in columns) for row in at.tolist()]
    ranked = sorted(range(len(keys)), key=lambda one: keys[one])
    place = np.empty(len(keys), dtype=np.int64)
    place[ranked] = np.arange(len(keys))
    lanes = tuple(_lane(keys[one], names, events.attributes) for one in ranked)
    return place[code], lanes


def _where(values: Any, unset: Any) -> Any:
    """A column with -1 where it does not tell lines apart; None where it holds nothing."""
    if not is_held(values):
        return None
    return values.astype(np.int64) if unset is None else np.where(unset, UNSET, values).astype(np.int64)


def _lane(key: tuple[int, ...], names: list[str], attributes: Mapping[str, Any]) -> Lane:
    """A line with the name of its thread or stream."""
    rank, pid, device, tid, stream, group = key
    if names[group] in ON_DEVICE:
        where = "host memory" if device == HOST else f"device {device}" if device != UNSET else "device"
        return Lane(names[group], rank, pid, tid, device, stream, f"{where}, stream {stream}" if stream != UNSET else where)
    threads = attributes.get("threads", {})
    named = str(threads.get(f"{pid}/{tid}", "")) if isinstance(threads, Mapping) else ""
    thread = f"thread {tid}" if tid != UNSET else ""
    return Lane(names[group], rank, pid, tid, device, stream, f"{named} ({tid})" if named else thread)


def _drawn(events: EventTable, rows: IntArray, first: IntArray) -> tuple[IntArray, IntArray]:
    """From when to when each row is drawn."""
    start, duration = events.start_ns[rows], events.duration_ns[rows]
    end = start + duration
    sampled = np.isin(events.kind[rows], [int(kind) for kind in SAMPLED]) & (duration == 0)
    if sampled.any():
        before = np.concatenate((start[:1], start[:-1]))
        opens = first[:-1][first[:-1] < len(rows)]
        since = start - events.weight_ns[rows]
        floor = np.minimum(before, start)
        floor[opens] = since[opens]
        start = np.where(sampled, np.minimum(np.maximum(since, floor), start), start)
    return start, end
