"""What waits for what on one rank: host calls, device activities, and why each began when it did."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable

NOBODY = -1
SYNCHRONISES = re.compile(r"Synchronize")
COPIES = re.compile(r"Memcpy")
WAITS_EVENT = "Stream Wait Event"
CLOSE_NS = 20_000
"""A kernel that starts this soon after the end of one on another stream, launched before it, is taken to have waited for it, where
the trace names no events."""
ON_DEVICE = (Kind.KERNEL, Kind.COLL, Kind.MEMCPY, Kind.MEMSET)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One rank.

    Attributes
    ----------
    rank : int
    calls : array of int64, shape (n_calls,)
        Rows of launches and waiting calls by start.
    before : array of int64, shape (n_calls,)
        Place of the call that ended last before each began, on whatever thread: host threads of a rank hand over to each other.
    awaited : array of int64, shape (n_calls,)
        Place of the activity that a call returns after; -1: it waits for none.
    activities : array of int64, shape (n_activities,)
        Rows of device activities by start.
    launch, previous, other : array of int64, shape (n_activities,)
        Places of the launching call, of the activity before on the stream, and of the one on another stream that it waited for.
    least_launch_ns : int
        Shortest time from a launch's start to that of what it started.
    n_inferred : int
        Orders between streams that the trace does not name.
    """

    rank: int
    calls: IntArray
    before: IntArray
    awaited: IntArray
    activities: IntArray
    launch: IntArray
    previous: IntArray
    other: IntArray
    least_launch_ns: int
    n_inferred: int


def program_of(table: EventTable, rank: int) -> Program:
    """Find what each call and activity of a rank waited for."""
    own = table.rank == rank
    activities = _by_start(
        table, np.flatnonzero(own & _is(table, *ON_DEVICE) & ((table.kind != Kind.COLL) | (table.device != UNSET)))
    )
    names = _matching(table, SYNCHRONISES)
    host = own & (table.kind == Kind.API) & (table.device == UNSET)
    launches = np.unique(table.match[activities])
    calls = _by_start(table, np.union1d(launches[launches >= 0], np.flatnonzero(host & names[table.name])))
    place_of_call = _places(len(table), calls)
    launch = np.where(table.match[activities] >= 0, place_of_call[table.match[activities]], NOBODY)
    previous = _previous(table, activities)
    other, n_inferred = _other_streams(table, rank, calls, activities, launch)
    launched = launch >= 0
    latency = table.start_ns[activities[launched]] - table.start_ns[calls[launch[launched]]]
    return Program(
        rank=rank,
        calls=calls,
        before=_handed_over(table, calls),
        awaited=_awaited(table, calls, activities, launch),
        activities=activities,
        launch=launch,
        previous=previous,
        other=other,
        least_launch_ns=int(max(latency.min(initial=np.iinfo(np.int64).max), 0)) if len(latency) else 0,
        n_inferred=n_inferred,
    )


def _is(table: EventTable, *kinds: Kind) -> np.ndarray:
    """Rows of some kinds."""
    found: np.ndarray = np.isin(table.kind, [int(kind) for kind in kinds])
    return found


def _matching(table: EventTable, pattern: re.Pattern[str]) -> np.ndarray:
    """Which strings fit, shape (n_strings + 1,); the last answers for -1."""
    return np.array([bool(pattern.search(text)) for text in table.strings] + [False], dtype=bool)


def _by_start(table: EventTable, rows: IntArray) -> IntArray:
    """Rows by start, then end."""
    return rows[np.lexsort((rows, table.end_ns[rows], table.start_ns[rows]))]


def _places(n_rows: int, rows: IntArray) -> IntArray:
    """Place of each row of the table in a list of rows, -1 where it is not in it; the last entry answers for -1."""
    found = np.full(n_rows + 1, NOBODY, dtype=np.int64)
    found[rows] = np.arange(len(rows))
    return found


def _handed_over(table: EventTable, calls: IntArray) -> IntArray:
    """The call that ended last before each began."""
    ends = table.end_ns[calls]
    order = np.argsort(ends, kind="stable")
    n_before = np.searchsorted(ends[order], table.start_ns[calls], "right")
    found = np.full(len(calls), NOBODY, dtype=np.int64)
    has = n_before > 0
    found[has] = order[n_before[has] - 1]
    # A call that takes no time ends as it starts, and is not before itself.
    itself = found == np.arange(len(calls))
    found[itself & (n_before > 1)] = order[n_before[itself & (n_before > 1)] - 2]
    found[found >= np.arange(len(calls))] = NOBODY
    return found


def _previous(table: EventTable, activities: IntArray) -> IntArray:
    """The activity before on the same stream."""
    found = np.full(len(activities), NOBODY, dtype=np.int64)
    order = np.lexsort((np.arange(len(activities)), table.stream[activities], table.device[activities]))
    rows = activities[order]
    same = (np.diff(table.stream[rows]) == 0) & (np.diff(table.device[rows]) == 0)
    found[order[1:][same]] = order[:-1][same]
    return found


def _awaited(table: EventTable, calls: IntArray, activities: IntArray, launch: IntArray) -> IntArray:
    """What each call waited for: of what was launched before it on the awaited stream the last to end before its own end."""
    found = np.full(len(calls), NOBODY, dtype=np.int64)
    synchronises, copies = (_matching(table, each)[table.name[calls]] for each in (SYNCHRONISES, COPIES))
    ends = table.end_ns[activities]
    for call in np.flatnonzero(synchronises | copies).tolist():
        row = calls[call]
        if copies[call]:
            waited = (launch == call) & (ends <= table.end_ns[row])
        else:
            waited = (launch >= 0) & (launch < call) & (ends <= table.end_ns[row])
            stream = _awaited_stream(table, row)
            if stream >= 0:
                waited &= table.stream[activities] == stream
        if waited.any():
            candidates = np.flatnonzero(waited)
            found[call] = candidates[np.argmax(ends[candidates])]
    return found


def _awaited_stream(table: EventTable, row: int) -> int:
    """The stream that a synchronising call names by its record on the device; -1 for all, or unknown."""
    record = table.match[row]
    if record < 0 or table.kind[record] != Kind.API:
        return NOBODY
    return int(table.peer[record]) if table.peer[record] >= 0 else int(table.stream[record])


def _other_streams(table: EventTable, rank: int, calls: IntArray, activities: IntArray, launch: IntArray) -> tuple[IntArray, int]:
    """What each activity waited for on another stream, and how many of these are inferred."""
    waits = np.flatnonzero(
        (table.rank == rank) & (table.kind == Kind.API) & (table.device != UNSET) & (_named(table, WAITS_EVENT)[table.name])
    )
    waits = waits[(table.match[waits] >= 0) & (table.tag[waits] >= 0) & (table.peer[waits] >= 0)]
    if len(waits):
        return _told(table, waits, calls, activities, launch), 0
    found = _inferred(table, activities, launch)
    return found, int(np.count_nonzero(found >= 0))


def _named(table: EventTable, name: str) -> np.ndarray:
    """Which strings are a name."""
    return np.array([text == name for text in table.strings] + [False], dtype=bool)


def _told(table: EventTable, waits: IntArray, calls: IntArray, activities: IntArray, launch: IntArray) -> IntArray:
    """By the recorded waits of streams for events: the next activity on the waiting stream waits for the last before the record."""
    found = np.full(len(activities), NOBODY, dtype=np.int64)
    launched_at = np.where(launch >= 0, table.start_ns[calls[launch]], np.iinfo(np.int64).max) if len(calls) else np.zeros(0)
    stream, ends = table.stream[activities], table.end_ns[activities]
    span = int(table.corr[table.match[waits[0]]]) >> 33 << 33
    records = {int(corr) - span: row for row, corr in _records(table, waits)}
    for wait in waits.tolist():
        record = records.get(int(table.tag[wait]))
        if record is None:
            continue
        after = np.flatnonzero((stream == table.stream[wait]) & (launched_at > table.start_ns[table.match[wait]]))
        source = np.flatnonzero((stream == table.peer[wait]) & (launched_at < table.start_ns[record]))
        if len(after) and len(source):
            first = after[np.argmin(launched_at[after])]
            last = source[np.argmax(ends[source])]
            if ends[last] <= table.start_ns[activities[first]] and (found[first] < 0 or ends[found[first]] < ends[last]):
                found[first] = last
    return found


def _records(table: EventTable, waits: IntArray) -> list[tuple[int, int]]:
    """Rows and numbers of host calls of the rank."""
    rows = np.flatnonzero(
        (table.kind == Kind.API) & (table.device == UNSET) & (table.rank == table.rank[waits[0]]) & (table.corr >= 0)
    )
    return list(zip(rows.tolist(), table.corr[rows].tolist(), strict=True))


def _inferred(table: EventTable, activities: IntArray, launch: IntArray) -> IntArray:
    """What on another stream ended just before each activity began, if it was launched before."""
    found = np.full(len(activities), NOBODY, dtype=np.int64)
    start, ends = table.start_ns[activities], table.end_ns[activities]
    stream, device = table.stream[activities], table.device[activities]
    order = np.argsort(ends, kind="stable")
    n_before = np.searchsorted(ends[order], start, "right")
    for place in range(len(activities)):
        for candidate in order[max(n_before[place] - 8, 0) : n_before[place]][::-1].tolist():
            if start[place] - ends[candidate] > CLOSE_NS:
                break
            if stream[candidate] == stream[place] and device[candidate] == device[place]:
                break
            if device[candidate] == device[place] and 0 <= launch[candidate] < launch[place]:
                found[place] = candidate
                break
    return found
