"""Communication events of all ranks in program order, and the calls that they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import COMMUNICATION, UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """Calls by rank and, within a rank, in program order; one that sends and receives at once is one call of two events.

    Attributes
    ----------
    rows : array of int64, shape (n_events,)
        Row in the table of every communication event, by rank and program order. An event's number is its place here.
    call : array of int64, shape (n_events,)
        The call that each event is, or is half of.
    event : array of int64, shape (n_calls,)
        Each call's event, the first half of two.
    rank : array of int64, shape (n_calls,)
    start_ns, end_ns : array of int64, shape (n_calls,)
        As recorded.
    kind : array of uint8, shape (n_calls,)
        `Kind` of the first half.
    first : array of int64, shape (n_ranks + 1,)
        Calls of rank p are ``first[p]`` to ``first[p + 1]``.
    number : array of int64, shape (n_rows + 1,)
        The other way round: event of each row of the table, -1 for other rows and for row -1.
    """

    rows: IntArray
    call: IntArray
    event: IntArray
    rank: IntArray
    start_ns: IntArray
    end_ns: IntArray
    kind: NDArray[np.uint8]
    first: IntArray
    number: IntArray

    def __len__(self) -> int:
        """Number of calls."""
        return len(self.rank)

    @property
    def before(self) -> IntArray:
        """The call before each on its rank, -1 where it is the first, shape (n_calls,)."""
        before = np.arange(len(self)) - 1
        before[self.first[:-1][np.diff(self.first) > 0]] = UNSET
        return before

    @property
    def event_rank(self) -> IntArray:
        """Rank of every event, shape (n_events,)."""
        return self.rank[self.call]


def calls_of(table: EventTable) -> Calls:
    """Put the communication events of a table in program order: by start, then by end, then as they stand.

    Raises
    ------
    DataError
        One has no rank, or there is none at all.
    """
    rows = np.flatnonzero(np.isin(table.kind, [int(kind) for kind in COMMUNICATION]))
    if not len(rows):
        hint = "Was it recorded with the message-passing library's events?"
        raise DataError("the trace has no communication event", place=table.place, hint=f"{hint} {table.met}".rstrip())
    rank, start, end = (values[rows].astype(np.int64) for values in (table.rank, table.start_ns, table.end_ns))
    if rank.min() < 0:
        raise DataError(f"{np.count_nonzero(rank < 0)} communication events have no rank", place=table.place)
    order = _program_order(rank, start, end)
    rows, rank, start, end = rows[order], rank[order], start[order], end[order]
    call, event = _merge_halves(rank, table.corr[rows], table.flags[rows] & Flag.PAIRED > 0)
    number = np.full(len(table) + 1, UNSET, dtype=np.int64)
    number[rows] = np.arange(len(rows))
    first = np.searchsorted(rank[event], np.arange(table.n_ranks + 1))
    last = end[event]
    np.maximum.at(last, call, end)
    return Calls(rows, call, event, rank[event], start[event], last, table.kind[rows[event]], first, number)


def _program_order(rank: IntArray, start: IntArray, end: IntArray) -> IntArray:
    """By rank, start and end; many tables are sorted already."""
    same = rank[1:] == rank[:-1]
    later = (start[1:] > start[:-1]) | ((start[1:] == start[:-1]) & (end[1:] >= end[:-1]))
    if np.all((rank[1:] > rank[:-1]) | (same & later)):
        return np.arange(len(rank))
    return np.lexsort((end, start, rank))


def _merge_halves(rank: IntArray, corr: IntArray, paired: np.ndarray) -> tuple[IntArray, IntArray]:
    """Call of every event, and event of every call: the two events of a number and rank are halves of one."""
    half = np.flatnonzero(paired & (corr >= 0))
    half = half[np.lexsort((corr[half], rank[half]))]
    if not len(half):
        each = np.arange(len(rank))
        return each, each
    same = (corr[half][1:] == corr[half][:-1]) & (rank[half][1:] == rank[half][:-1])
    earlier, later = half[:-1][same], half[1:][same]
    is_call = np.ones(len(rank), dtype=bool)
    is_call[later] = False
    call = np.cumsum(is_call) - 1
    call[later] = call[earlier]
    return call, np.flatnonzero(is_call)


def wait_of(calls: Calls, table: EventTable) -> IntArray:
    """The call that completes each event: the WAIT of a posted one, -1 if nothing waits for it; else its own, shape (n_events,).

    Raises
    ------
    DataError
        A WAIT stands before what it completes.
    """
    kind, corr = table.kind[calls.rows], table.corr[calls.rows]
    rank = calls.event_rank
    done = calls.call.copy()
    posted = np.flatnonzero((kind == Kind.ISEND) | (kind == Kind.IRECV))
    done[posted] = UNSET
    waits = np.flatnonzero((kind == Kind.WAIT) & (corr >= 0))
    posted = posted[corr[posted] >= 0]
    if len(waits) and len(posted):
        span = int(corr.max()) + 1
        waits = waits[np.argsort(rank[waits] * span + corr[waits], kind="stable")]
        key = rank[waits] * span + corr[waits]
        place = np.minimum(np.searchsorted(key, rank[posted] * span + corr[posted]), len(waits) - 1)
        found = key[place] == rank[posted] * span + corr[posted]
        done[posted[found]] = calls.call[waits[place[found]]]
    early = np.flatnonzero((done >= 0) & (done < calls.call))
    if len(early):
        row = int(calls.rows[early[0]])
        told = f"rank {rank[early[0]]}: the event of row {row} is completed by a WAIT before it ({len(early)} such)"
        raise DataError(told, place=table.place)
    return done
