"""Collective operations: their members, and who waits for whom in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.events.kinds import UNSET, Kind
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
        Calls that are members, by operation and then in the order of calls.
    operation : array of int64, shape (n_members,)
        The operation of each.
    flow : array of int64, shape (n_operations,)
        `Flow`.
    root : array of int64, shape (n_operations,)
        Call of the root, -1 where everyone waits for everyone.
    """

    call: IntArray
    operation: IntArray
    flow: IntArray
    root: IntArray

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
    """
    lower = name.lower()
    for part, others, flow in ROOTED:
        if part in lower and not any(other in lower for other in others):
            return flow
    return Flow.ALL


def groups_of(table: EventTable, calls: Calls) -> Groups:
    """Collective operations by `corr`; a rooted name without a root among its members is a wait of all for all."""
    events = np.flatnonzero((table.kind[calls.rows] == Kind.COLL) & (table.corr[calls.rows] >= 0))
    numbers, operation = np.unique(table.corr[calls.rows[events]], return_inverse=True)
    order = np.lexsort((events, operation))
    events, operation = events[order], operation[order]
    rows, call = calls.rows[events], calls.call[events]
    flows = np.array([flow_of(text) for text in table.strings] + [Flow.ALL], dtype=np.int64)
    flow = np.zeros(len(numbers), dtype=np.int64)
    flow[operation] = flows[table.name[rows]]
    root = np.full(len(numbers), UNSET, dtype=np.int64)
    is_root = table.rank[rows] == table.peer[rows]
    root[operation[is_root]] = call[is_root]
    root[flow == Flow.ALL] = UNSET
    flow[root < 0] = Flow.ALL
    return Groups(call, operation, flow, root)
