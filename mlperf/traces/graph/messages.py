"""Messages: which call sends, which receives, and which call completes either."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.graph.calls import Calls, wait_of


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Matched messages in the order of their sends; every array has shape (n_messages,).

    Attributes
    ----------
    send, recv : array of int64
        Events of both ends.
    send_call, recv_call : array of int64
        Calls that begin both ends.
    send_done, recv_done : array of int64
        Calls at whose end both ends are complete: the same, or a WAIT; -1 where nothing waits for it.
    size_bytes : array of int64
        Payload as sent.
    """

    send: IntArray
    recv: IntArray
    send_call: IntArray
    recv_call: IntArray
    send_done: IntArray
    recv_done: IntArray
    size_bytes: IntArray

    def __len__(self) -> int:
        """Number of messages."""
        return len(self.send)

    def posts(self, calls: Calls) -> IntArray:
        """Calls that only post an end of one of these messages, shape (n_posts,)."""
        ends = np.concatenate((self.send_call, self.recv_call))
        return ends[np.isin(calls.kind[ends], (Kind.ISEND, Kind.IRECV))]

    def posted(self) -> tuple[IntArray, IntArray]:
        """Events of posted ends that a WAIT completes, and the calls of those WAITs, each of shape (n_posted,)."""
        event = np.concatenate((self.send, self.recv))
        call, done = np.concatenate((self.send_call, self.recv_call)), np.concatenate((self.send_done, self.recv_done))
        waited = (done != call) & (done >= 0)
        return event[waited], done[waited]


def messages_of(table: EventTable, calls: Calls) -> Messages:
    """Messages by the table's `match`.

    Raises
    ------
    DataError
        An end without a partner is not flagged so, or partners do not name one another.
    """
    kind = table.kind[calls.rows]
    sends = np.flatnonzero((kind == Kind.SEND) | (kind == Kind.ISEND))
    receives = np.flatnonzero((kind == Kind.RECV) | (kind == Kind.IRECV))
    _refuse_unmatched(table, calls, np.concatenate((sends, receives)))
    send = sends[table.match[calls.rows[sends]] >= 0]
    rows = calls.rows[send]
    recv = calls.number[table.match[rows]]
    wrong = (recv < 0) | (table.match[table.match[rows]] != rows) | ~np.isin(kind[recv], (Kind.RECV, Kind.IRECV))
    if np.any(wrong):
        row = int(rows[wrong][0])
        raise DataError(f"row {row} is a send matched with row {int(table.match[row])}, which is no receive matched with it")
    done = wait_of(calls, table)
    return Messages(send, recv, calls.call[send], calls.call[recv], done[send], done[recv], table.size_bytes[rows])


def _refuse_unmatched(table: EventTable, calls: Calls, ends: IntArray) -> None:
    """Only ends that the matching flagged, or that name no partner, may be without one."""
    rows = calls.rows[ends]
    alone = rows[(table.match[rows] < 0) & (table.peer[rows] >= 0) & (table.flags[rows] & Flag.UNMATCHED == 0)]
    if len(alone):
        some = ", ".join(f"rank {table.rank[row]} with {table.peer[row]} (row {row})" for row in alone[:5].tolist())
        raise DataError(f"{len(alone)} sends and receives have no partner: {some}", hint="Match the messages first.")
