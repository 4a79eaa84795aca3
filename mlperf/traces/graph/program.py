"""A recorded run as a program: calls of every rank in order, the messages between them, their collective operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.graph.calls import Calls, calls_of
from mlperf.traces.graph.groups import Groups, groups_of
from mlperf.traces.graph.messages import Messages, messages_of


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What every replay of a run has in common, whatever its messages cost.

    Attributes
    ----------
    table : EventTable
        As it was given.
    calls : Calls
        Communication calls by rank and program order.
    messages : Messages
        Who sends to whom.
    groups : Groups
        Collective operations.
    compute_ns : array of int64, shape (n_calls + n_ranks,)
        Time between the end of the call before and the start of each call (of the run, for a rank's first); then what follows
        the last call of every rank. Below 0 where calls of one rank overlap.
    notes : tuple of str
        What is odd, counted.
    """

    table: EventTable
    calls: Calls
    messages: Messages
    groups: Groups
    compute_ns: IntArray
    notes: tuple[str, ...]

    @property
    def n_ranks(self) -> int:
        """Ranks of the run."""
        return len(self.calls.first) - 1

    @property
    def measured_ns(self) -> int:
        """T as recorded: from 0 to the last end, nanoseconds."""
        return int(self.rank_end_ns.max())

    @property
    def rank_end_ns(self) -> IntArray:
        """Last recorded end of every rank, shape (n_ranks,)."""
        end = np.zeros(self.n_ranks, dtype=np.int64)
        own = self.table.rank >= 0
        np.maximum.at(end, self.table.rank[own], self.table.end_ns[own])
        return end


def program_of(table: EventTable) -> Program:
    """Read a table whose messages are matched (`match`) and whose collective operations are told apart (`corr`).

    Parameters
    ----------
    table : EventTable
        Times count from the start of the run; rows in any order.

    Raises
    ------
    DataError
        No communication, ends without partners that are not flagged, a WAIT before what it completes.
    """
    calls = calls_of(table)
    messages, groups = messages_of(table, calls), groups_of(table, calls)
    bare = Program(table, calls, messages, groups, np.zeros(0, dtype=np.int64), ())
    before = calls.before
    gaps = calls.start_ns - np.where(before < 0, 0, calls.end_ns[before])
    last = calls.first[1:] - 1
    ends = np.where(np.diff(calls.first) > 0, calls.end_ns[last], 0)
    compute = np.concatenate((gaps, bare.rank_end_ns - ends))
    return Program(table, calls, messages, groups, compute, _oddities(table, calls, gaps))


def _oddities(table: EventTable, calls: Calls, gaps: IntArray) -> tuple[str, ...]:
    """Sentences about what the graph can only take as it stands."""
    kind, flags = table.kind[calls.rows], table.flags[calls.rows]
    alone = (table.match[calls.rows] < 0) & np.isin(kind, (Kind.SEND, Kind.RECV, Kind.ISEND, Kind.IRECV))
    counts = (
        (np.count_nonzero(gaps < 0), "calls start before the one before on their rank has ended; they keep that distance"),
        (np.count_nonzero(alone), "sends and receives have no partner and keep the time they took"),
        (
            np.count_nonzero((kind == Kind.COLL) & (table.corr[calls.rows] < 0)),
            "collective calls belong to no operation and keep their time",
        ),
        (np.count_nonzero(flags & Flag.WILDCARD), "receives took any source or tag: they are replayed with the message they got"),
    )
    return tuple(f"{count} {sentence}" for count, sentence in counts if count)
