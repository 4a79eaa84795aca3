"""Collective operations: their members, and who waits for whom in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.graph.calls import Calls


class Flow(IntEnum):
    """Who waits for whom in a collective operation."""

    ALL = 0
    """Everyone waits for everyone."""
    FROM_ROOT = 1
    """Everyone waits for the root."""
    TO_ROOT = 2
    """The root waits for everyone."""
    UP = 3
    """Partial sums: everyone needs those of lower ranks in the communicator; whether a library lets it go then, times say."""


ROOTED = (
    #  name has  and none of                                     flow
    ("bcast", (), Flow.FROM_ROOT),
    ("broadcast", (), Flow.FROM_ROOT),
    ("scatter", ("reduce",), Flow.FROM_ROOT),
    ("gather", ("all",), Flow.TO_ROOT),
    ("reduce", ("all", "scatter"), Flow.TO_ROOT),
)
"""Names of operations that have a root; they are told by their names alone, whatever the library puts before and behind."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Collective operations and their members.

    Attributes
    ----------
    call : array of int64, shape (n_members,)
        Calls that are members, by operation and then in the order of their ranks in the communicator.
    operation : array of int64, shape (n_members,)
        The operation of each.
    flow : array of int64, shape (n_operations,)
        `Flow`.
    root : array of int64, shape (n_operations,)
        Call of the root, -1 where the operation has none.
    until : array of int64, shape (n_members,)
        The last of the members, its number in `call`, for whom each may have to wait: of all, but in partial sums of those up to
        itself where its rank leaves such operations before higher ones come.
    """

    call: IntArray
    operation: IntArray
    flow: IntArray
    root: IntArray
    until: IntArray

    def __len__(self) -> int:
        """Number of operations."""
        return len(self.flow)

    def where(self, *flows: Flow) -> IntArray:
        """Members of operations with one of these flows, their numbers in `call`."""
        return np.flatnonzero(np.isin(self.flow[self.operation], flows))

    @property
    def is_root(self) -> BoolArray:
        """Whether each member is its operation's root, shape (n_members,)."""
        return np.asarray(self.call == self.root[self.operation])


def flow_of(name: str) -> Flow:
    """Who waits for whom in an operation of that name.

    Examples
    --------
    >>> flow_of("MPI_Bcast").name, flow_of("MPI_Allgather").name, flow_of("MPI_Reduce_scatter").name
    ('FROM_ROOT', 'ALL', 'ALL')
    >>> flow_of("MPI_Exscan").name
    'UP'
    """
    lower = name.lower()
    if "scan" in lower:
        return Flow.UP
    for part, others, flow in ROOTED:
        if part in lower and not any(other in lower for other in others):
            return flow
    return Flow.ALL


def groups_of(table: EventTable, calls: Calls) -> Groups:
    """Collective operations by `corr`; a rooted name without a root among its members is a wait of all for all."""
    events = np.flatnonzero((table.kind[calls.rows] == Kind.COLL) & (table.corr[calls.rows] >= 0))
    numbers, operation = np.unique(table.corr[calls.rows[events]], return_inverse=True)
    order = np.lexsort((events, _rank_inside(table, calls.rows[events]), operation))
    events, operation = events[order], operation[order]
    rows, call = calls.rows[events], calls.call[events]
    flows = np.array([flow_of(text) for text in table.strings] + [Flow.ALL], dtype=np.int64)
    flow = np.zeros(len(numbers), dtype=np.int64)
    flow[operation] = flows[table.name[rows]]
    root = np.full(len(numbers), UNSET, dtype=np.int64)
    is_root = table.rank[rows] == table.peer[rows]
    root[operation[is_root]] = call[is_root]
    rooted = (flow == Flow.FROM_ROOT) | (flow == Flow.TO_ROOT)
    root[~rooted] = UNSET
    flow[rooted & (root < 0)] = Flow.ALL
    return Groups(call, operation, flow, root, _until(table, calls, call, operation, flow == Flow.UP))


def _rank_inside(table: EventTable, rows: IntArray) -> IntArray:
    """Rank of each event in its communicator; the world's rank where its members stand in that order or are not known."""
    inside = table.rank[rows].astype(np.int64)
    for comm, members in table.attributes.get("reordered_comms", {}).items():
        place = {rank: number for number, rank in enumerate(members)}
        own = np.flatnonzero(table.comm[rows] == comm)
        inside[own] = [place.get(rank, rank) for rank in inside[own].tolist()]
    return inside


def _until(table: EventTable, calls: Calls, call: IntArray, operation: IntArray, is_partial: BoolArray) -> IntArray:
    """For whom the members may have to wait (`Groups`).

    A library that adds up by exchanges of pairs lets ranks wait for higher ones, too; a chain does not. A rank is of a chain where
    one of its calls ended nearer to the last start of lower ranks than to the last of all. Assumed times tell nothing.
    """
    last = np.searchsorted(operation, operation, side="right") - 1
    partial = is_partial[operation]
    if not partial.any():
        return last
    start, end = calls.start_ns[call], calls.end_ns[call]
    lower_ns = start[last_so_far(operation, start)]
    row = calls.rows[calls.event[call]]
    who = table.comm[row].astype(np.int64) * table.n_ranks + table.rank[row]
    timed = (table.flags[row] & Flag.ASSUMED_TIME) == 0
    left = partial & timed & (lower_ns[last] - end > end - lower_ns)
    return np.where(partial & np.isin(who, who[left]), np.arange(len(call)), last)


def last_so_far(operation: IntArray, start_ns: IntArray) -> IntArray:
    """Of each member and those before it in its operation the last to come, of several the first, shape (n_members,)."""
    order = np.lexsort((-np.arange(len(operation)), start_ns, operation))
    # Operations stand one after the other in both orders, so that the latest place so far is always of one's own.
    return np.asarray(order[np.maximum.accumulate(np.argsort(order))])
