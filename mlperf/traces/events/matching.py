"""Which receive got which send, and which calls are one collective operation."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, column

SHOWN = 5
"""How many of many are named in a message."""
WIDEST = 2**62


def match_messages(table: EventTable, *, drop_unmatched: bool = False) -> EventTable:
    """Fill `match`: the i-th send posted to a rank with a tag on a communicator goes to the i-th receive posted for it.

    MPI messages of one sender, receiver, communicator and tag do not overtake each other; the order is that of posting (a
    non-blocking receive's own start, not its completion). A receive from any source or tag must carry those that came, and the
    flag WILDCARD. Ends whose peer is unset take no part.

    Parameters
    ----------
    table : EventTable
        In any order; messages that are matched already are matched anew, what else `match` joins (a launch and its kernel) stays.
    drop_unmatched : bool
        Flag ends without a partner as UNMATCHED and note their number instead of refusing them.

    Returns
    -------
    EventTable
        The same rows with `match` and `flags`.

    Raises
    ------
    DataError
        Ends have no partner; the first five are named.

    References
    ----------
    MPI standard, section "Semantics of Point-to-Point Communication": order.
    """
    sends, receives = ends_of(table, Kind.SEND, Kind.ISEND), ends_of(table, Kind.RECV, Kind.IRECV)
    group = _groups(table, sends, receives)
    sends, send_group = _by_group(table, sends, group[: len(sends)])
    receives, receive_group = _by_group(table, receives, group[len(sends) :])
    n_groups = int(group.max(initial=-1)) + 1
    n_sent, n_received = np.bincount(send_group, minlength=n_groups), np.bincount(receive_group, minlength=n_groups)
    n_both = np.minimum(n_sent, n_received)
    sent = _place_in_group(n_sent) < n_both[send_group]
    received = _place_in_group(n_received) < n_both[receive_group]
    is_end = np.isin(table.kind, [int(kind) for kind in (Kind.SEND, Kind.ISEND, Kind.RECV, Kind.IRECV)])
    match = np.where(is_end, UNSET, table.match)
    match[sends[sent]] = receives[received]
    match[receives[received]] = sends[sent]
    alone = np.sort(np.concatenate((sends[~sent], receives[~received])))
    if len(alone) and not drop_unmatched:
        raise DataError(
            f"{len(alone)} of {len(sends) + len(receives)} sends and receives have no partner: {_named(table, alone)}",
            place=table.place,
            hint="The trace may be cut, or lack a rank. With --drop-unmatched they keep the time they took and are counted.",
        )
    flags = column(table.flags).copy()
    flags[alone] |= np.uint16(Flag.UNMATCHED)
    notes = (f"{len(alone)} sends and receives have no partner: {_named(table, alone)}",) if len(alone) else ()
    return table.replace(match=match, flags=flags, notes=(*table.notes, *notes))


def ends_of(table: EventTable, *kinds: Kind) -> IntArray:
    """Rows of some kinds that name a peer."""
    return np.flatnonzero(np.isin(table.kind, [int(kind) for kind in kinds]) & (table.peer >= 0) & (table.rank >= 0))


def _groups(table: EventTable, sends: IntArray, receives: IntArray) -> IntArray:
    """One number for each sender, receiver, communicator and tag, shape (n_sends + n_receives,)."""
    both = np.concatenate((sends, receives))
    if not len(both):
        return both
    source = np.concatenate((table.rank[sends], table.peer[receives])).astype(np.int64)
    target = np.concatenate((table.peer[sends], table.rank[receives])).astype(np.int64)
    parts = [source, target, table.comm[both].astype(np.int64), table.tag[both].astype(np.int64)]
    key = np.zeros(len(both), dtype=np.int64)
    width = 1
    for part in parts:
        part -= part.min()
        span = int(part.max()) + 1
        if width * span >= WIDEST:
            # So many different tags are not used at once: their numbers are packed by rank.
            key, part = (np.unique(each, return_inverse=True)[1].astype(np.int64) for each in (key, part))
            width, span = int(key.max()) + 1, int(part.max()) + 1
        key, width = key * span + part, width * span
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _by_group(table: EventTable, rows: IntArray, group: IntArray) -> tuple[IntArray, IntArray]:
    """Rows and their groups by group, and within by the time they were posted."""
    # Calls of a rank do not overlap: of two that start at once, the one that takes no time came first.
    order = np.lexsort((rows, table.duration_ns[rows], table.start_ns[rows], group))
    return rows[order], group[order]


def _place_in_group(counts: IntArray) -> IntArray:
    """0, 1, 2, ... within each group of so many."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _named(table: EventTable, rows: IntArray) -> str:
    """The first few ends in words."""
    numbers = event_numbers(table)
    found = [
        f"rank {table.rank[row]}, event {numbers[row]}: {Kind(table.kind[row]).name} peer {table.peer[row]}, tag {table.tag[row]}, "
        f"{table.size_bytes[row]} bytes"
        for row in rows[:SHOWN].tolist()
    ]
    return "; ".join(found) + ("; ..." if len(rows) > SHOWN else "")


def event_numbers(table: EventTable) -> IntArray:
    """The number of every event on its rank by start, from 0, shape (n_events,)."""
    order = np.lexsort((table.start_ns, table.rank))
    counts = np.bincount(table.rank[order] + 1)
    numbers = np.empty(len(table), dtype=np.int64)
    numbers[order] = _place_in_group(counts)
    return numbers


def match_collectives(table: EventTable, *, drop_unmatched: bool = False) -> EventTable:
    """Fill `corr` of collective calls that have none: the i-th call on a communicator is one operation on all its ranks.

    Raises
    ------
    DataError
        Ranks of a communicator make different numbers of calls, or different operations meet.
    """
    rows = np.flatnonzero((table.kind == Kind.COLL) & (table.corr == UNSET) & (table.rank >= 0))
    if not len(rows):
        return table
    rows = rows[np.lexsort((rows, table.duration_ns[rows], table.start_ns[rows], table.rank[rows], table.comm[rows]))]
    comm, rank = table.comm[rows].astype(np.int64), table.rank[rows].astype(np.int64)
    new = np.concatenate(([True], (np.diff(comm) != 0) | (np.diff(rank) != 0)))
    place = _place_in_group(np.diff(np.concatenate((np.flatnonzero(new), [len(rows)]))))
    _, operation = np.unique(comm * (int(place.max()) + 1) + place, return_inverse=True)
    n_members = np.bincount(operation)
    first = np.full(len(n_members), len(rows), dtype=np.int64)
    np.minimum.at(first, operation, np.arange(len(rows)))
    _refuse_mixed(table, rows, rows[first][operation])
    whole = _ranks_of(comm, rank)[first]
    alone = (n_members < whole)[operation]
    if np.any(alone) and not drop_unmatched:
        raise DataError(
            f"{len(np.unique(operation[alone]))} collective operations lack members: {_calls_named(table, rows[alone])}",
            place=table.place,
            hint="The trace may be cut. With --drop-unmatched they keep the time they took and are counted.",
        )
    corr, flags = column(table.corr).copy(), column(table.flags).copy()
    corr[rows[~alone]] = operation[~alone] + int(table.corr.max(initial=-1)) + 1
    flags[rows[alone]] |= np.uint16(Flag.UNMATCHED)
    notes = (f"{np.count_nonzero(alone)} collective calls belong to no whole operation",) if np.any(alone) else ()
    return table.replace(corr=corr, flags=flags, notes=(*table.notes, *notes))


def _ranks_of(comm: IntArray, rank: IntArray) -> IntArray:
    """How many ranks call on each row's communicator, shape (n_rows,)."""
    pairs = np.unique(np.stack((comm, rank), axis=1), axis=0)
    comms, counts = np.unique(pairs[:, 0], return_counts=True)
    members: IntArray = counts[np.searchsorted(comms, comm)]
    return members


def _refuse_mixed(table: EventTable, rows: IntArray, firsts: IntArray) -> None:
    """All members of an operation call the same function."""
    mixed: BoolArray = table.name[rows] != table.name[firsts]
    if np.any(mixed):
        row, other = int(rows[mixed][0]), int(firsts[mixed][0])
        here, there = table.text(table.name[[row, other]])
        raise DataError(
            f"rank {table.rank[row]} calls {here} where rank {table.rank[other]} calls {there} on communicator {table.comm[row]}",
            place=table.place,
            hint="Collective calls are matched by their order on a communicator: does the trace give the communicators?",
        )


def _calls_named(table: EventTable, rows: IntArray) -> str:
    """The first few collective calls in words."""
    names = table.text(table.name[rows[:SHOWN]])
    found = [f"rank {table.rank[row]} in {name}" for row, name in zip(rows[:SHOWN].tolist(), names, strict=True)]
    return "; ".join(found) + ("; ..." if len(rows) > SHOWN else "")
