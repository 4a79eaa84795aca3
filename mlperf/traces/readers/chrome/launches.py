"""Launches and what they start on a device: joined, and put right where a clock says the effect came before the cause."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, column
from mlperf.traces.readers.chrome.meaning import ON_DEVICE, flagged


def join_launches(table: EventTable) -> EventTable:
    """Fill `match` of device activities with their launching call, and of calls with the first activity they started.

    Events of one rank share `corr`. A device's synchronisation gets the call that waits, too.
    """
    calls = np.flatnonzero((table.kind == Kind.API) & (table.corr >= 0) & (table.device == UNSET))
    made = np.flatnonzero(_on_device(table) & (table.corr >= 0))
    if not len(calls) or not len(made):
        return table
    order = calls[np.argsort(table.corr[calls], kind="stable")]
    known = table.corr[order]
    at = np.minimum(np.searchsorted(known, table.corr[made]), len(known) - 1)
    found = known[at] == table.corr[made]
    match = column(table.match).copy()
    match[made[found]] = order[at[found]]
    match[order[at[found]][::-1]] = made[found][::-1]
    return table.replace(match=match)


def _on_device(table: EventTable) -> np.ndarray:
    """Activities and synchronisations of a device."""
    found: np.ndarray = np.isin(table.kind, [int(kind) for kind in ON_DEVICE]) | (
        (table.kind == Kind.API) & (table.device != UNSET)
    )
    return found


def repair_latencies(table: EventTable) -> EventTable:
    """Move an activity that starts before its launch to the launch's start, and what it then overlaps on its stream behind it.

    Durations stay; what was moved has the flag REPAIRED, and a note counts it and tells the largest move.
    """
    activities = np.flatnonzero(np.isin(table.kind, [int(kind) for kind in ON_DEVICE]) & (table.match >= 0))
    early = activities[table.start_ns[activities] < table.start_ns[table.match[activities]]]
    if not len(early):
        return table
    start = np.array(table.start_ns)
    largest = int((start[table.match[early]] - start[early]).max())
    start[early] = start[table.match[early]]
    pushed = _push(table, start, early)
    moved = np.union1d(early, pushed)
    note = (
        f"{len(early)} device activities began before their launch, by {largest} ns at most, and are moved to it; "
        f"{len(moved) - len(early)} more behind them on their streams are moved on"
    )
    table = flagged(table, moved, Flag.REPAIRED)
    return table.replace(start_ns=start, notes=(*table.notes, note))


def _push(table: EventTable, start: IntArray, early: IntArray) -> IntArray:
    """Move on, in place, what overlaps a moved activity on its stream; the rows moved."""
    pushed: list[int] = []
    touched = np.unique(np.stack((table.device[early], table.stream[early]), axis=1), axis=0)
    activities = np.isin(table.kind, [int(kind) for kind in ON_DEVICE])
    is_early = np.zeros(len(table), dtype=bool)
    is_early[early] = True
    for device, stream in touched.tolist():
        rows = np.flatnonzero(activities & (table.device == device) & (table.stream == stream))
        rows = rows[np.argsort(table.start_ns[rows], kind="stable")]
        free = before_end = int(np.iinfo(np.int64).min)
        moving = False
        for row in rows.tolist():
            if moving and not is_early[row] and start[row] < free and table.start_ns[row] >= before_end:
                start[row] = free
                pushed.append(row)
            elif is_early[row]:
                start[row] = max(int(start[row]), free) if moving else start[row]
                moving = True
            else:
                moving = False
            before_end = int(table.end_ns[row])
            free = int(start[row] + table.duration_ns[row])
    return np.array(pushed, dtype=np.int64)
