"""Constraints between clocks that messages, collective operations and launches of a trace give."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.clocks.constraints import COLLECTIVE, LAUNCH, Constraints, constraints, joined
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable

EVERYBODY, FROM_ROOT, TO_ROOT = "everybody", "from the root", "to the root"
DIRECTIONS: Mapping[str, str] = {
    "barrier": EVERYBODY,
    "allreduce": EVERYBODY,
    "allgather": EVERYBODY,
    "alltoall": EVERYBODY,
    "reducescatter": EVERYBODY,
    "bcast": FROM_ROOT,
    "broadcast": FROM_ROOT,
    "scatter": FROM_ROOT,
    "reduce": TO_ROOT,
    "gather": TO_ROOT,
}
"""Who must have come before whom can leave, by what the name of an operation holds, blanks and underscores aside."""
LONGER_FIRST = sorted(DIRECTIONS, key=len, reverse=True)


def clock_numbers(table: EventTable) -> tuple[IntArray, tuple[str, ...]]:
    """The clock of every event, and the clocks' names: one a host where every event has a host, else one a rank.

    Returns
    -------
    tuple
        Array of int64, shape (n_events,), -1 where an event has neither; names by number.
    """
    column, word = (table.host, "host") if len(table) and (table.host != UNSET).all() else (table.rank, "rank")
    known = np.unique(column[column != UNSET])
    number = np.where(column != UNSET, np.searchsorted(known, column), UNSET)
    return number.astype(np.int64), tuple(f"{word} {one}" for one in known.tolist())


def constraints_of(table: EventTable, clock: IntArray, least_message_ns: int = 0) -> Constraints:
    """Every constraint that a matched trace gives.

    Parameters
    ----------
    table : EventTable
        With messages matched.
    clock : array of int64, shape (n_events,)
        Clock of each event; -1: none.
    least_message_ns : int
        Shortest time that a message can take from the start of its sending to the end of its receipt; 0 is always safe.
    """
    return joined(
        (
            message_constraints(table, clock, least_message_ns),
            *collective_constraints(table, clock),
            launch_constraints(table, clock),
        )
    )


def message_constraints(table: EventTable, clock: IntArray, least_ns: int = 0) -> Constraints:
    """A message is received in the end not before its sending began."""
    receipts = np.flatnonzero(np.isin(table.kind, (Kind.RECV, Kind.IRECV)) & (table.match != UNSET))
    sends = table.match[receipts]
    ends = completions(table)
    known = (clock[receipts] != UNSET) & (clock[sends] != UNSET) & (ends[receipts] != UNSET)
    receipts, sends = receipts[known], sends[known]
    return constraints(clock[sends], table.start_ns[sends], clock[receipts], table.end_ns[ends[receipts]], least_ns)


def completions(table: EventTable) -> IntArray:
    """The row in which each event completes: its own, for a non-blocking call that of its wait; -1 where nothing waits for it."""
    rows = np.arange(len(table))
    posted = np.isin(table.kind, (Kind.ISEND, Kind.IRECV))
    waits = np.flatnonzero((table.kind == Kind.WAIT) & (table.corr != UNSET))
    found = np.where(posted, UNSET, rows)
    if len(waits):
        order = waits[np.argsort(table.corr[waits], kind="stable")]
        at = np.minimum(np.searchsorted(table.corr[order], table.corr), len(order) - 1)
        found = np.where(posted & (table.corr[order[at]] == table.corr), order[at], found)
    return found


def collective_constraints(table: EventTable, clock: IntArray) -> list[Constraints]:
    """Nobody leaves a collective operation before those have come whose part it needs."""
    rows = np.flatnonzero((table.kind == Kind.COLL) & (table.corr != UNSET) & (clock != UNSET))
    rows = rows[np.argsort(table.corr[rows], kind="stable")]
    directions = np.array([direction(name) for name in table.strings] + [""])
    cuts = np.flatnonzero(np.diff(table.corr[rows])) + 1
    return [
        _members(table, clock, members, str(directions[table.name[members[0]]]))
        for members in np.split(rows, cuts)
        if len(members) > 1
    ]


def direction(name: str) -> str:
    """Who must have come before whom in an operation of some name; empty where that is not known."""
    bare = name.lower().replace("_", "").replace(" ", "")
    return next((DIRECTIONS[word] for word in LONGER_FIRST if word in bare), "")


def _members(table: EventTable, clock: IntArray, members: IntArray, towards: str) -> Constraints:
    """Starts before ends among the members of one operation."""
    root: BoolArray = table.rank[members] == table.peer[members]
    first = {EVERYBODY: np.ones(len(members), dtype=bool), FROM_ROOT: root, TO_ROOT: ~root}.get(
        towards, np.zeros(len(members), dtype=bool)
    )
    second = {TO_ROOT: root, FROM_ROOT: ~root}.get(towards, np.ones(len(members), dtype=bool))
    come, leave = np.meshgrid(members[first], members[second], indexing="ij")
    come, leave = come.ravel(), leave.ravel()
    return constraints(clock[come], table.start_ns[come], clock[leave], table.end_ns[leave], kind=COLLECTIVE)


def launch_constraints(table: EventTable, clock: IntArray) -> Constraints:
    """A kernel or copy begins not before the call that launches it."""
    calls = np.flatnonzero((table.kind == Kind.API) & (table.corr != UNSET) & (clock != UNSET))
    work = np.flatnonzero(np.isin(table.kind, (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)) & (table.corr != UNSET) & (clock != UNSET))
    if not len(calls) or not len(work):
        return joined(())
    calls = calls[np.argsort(table.corr[calls], kind="stable")]
    at = np.minimum(np.searchsorted(table.corr[calls], table.corr[work]), len(calls) - 1)
    known = table.corr[calls[at]] == table.corr[work]
    launch, work = calls[at[known]], work[known]
    return constraints(clock[launch], table.start_ns[launch], clock[work], table.start_ns[work], kind=LAUNCH)
