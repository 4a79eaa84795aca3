"""A program as a graph: where every call's start and end stand, and which edges carry which time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.events.kinds import Kind
from mlperf.traces.graph.circle import deadlock
from mlperf.traces.graph.dag import Cycle, Dag, Numbers, build_dag, number_type
from mlperf.traces.graph.groups import Flow
from mlperf.traces.graph.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Edges of one kind.

    Attributes
    ----------
    name : str
        ``compute`` (end of the call before -> start), ``own`` (start -> end of one
        call), ``arrive`` (send's start -> receive's end), ``release`` (receive's start -> end of a synchronous send),
        ``send_wait`` and ``recv_wait`` (posting -> end of its WAIT), ``gather`` (member's start -> operation), ``spread``
        (operation, or its root's start -> member's end), ``gap`` (start of a send -> start of the rank's next; receives alike).
    of : array of int32 or int64, shape (n,)
        What each edge belongs to: a call (compute: and then ranks, numbered behind the calls), a message, a member of `Groups`.
    """

    name: str
    of: Numbers


Edges = tuple[str, Numbers, Numbers, Numbers]
"""Name of a part, what its edges belong to, and the builder's nodes that they lead from and to."""


@dataclass(frozen=True, slots=True, eq=False)
class RunGraph:
    """A program's graph for one choice of eager messages.

    The builder's nodes: 0 is the start of the run, ``1 + 2 c`` and ``2 + 2 c`` start and end of call c, then the end of every rank,
    a meeting point for each collective operation in which someone waits for all, and one for each member of partial sums. T is the
    last of all ends (`ends`): a rank whose call was moved before the one before it is not done sooner than that.

    Attributes
    ----------
    program : Program
        What it was made of.
    eager : array of bool, shape (n_messages,)
        Messages whose sends do not wait.
    dag : Dag
        The graph in topological order; its weights are 0.
    parts : tuple of Part
        The builder's edges, one part after the other.
    """

    program: Program
    eager: BoolArray
    dag: Dag
    parts: tuple[Part, ...]

    @property
    def start_node(self) -> IntArray:
        """Where the start of every call stands in the order, shape (n_calls,)."""
        return self.dag.place[1 : 1 + 2 * len(self.program.calls) : 2]

    @property
    def end_node(self) -> IntArray:
        """Where the end of every call stands, shape (n_calls,)."""
        return self.dag.place[2 : 2 + 2 * len(self.program.calls) : 2]

    @property
    def rank_node(self) -> IntArray:
        """Where the end of every rank stands, shape (n_ranks,)."""
        first = 1 + 2 * len(self.program.calls)
        return self.dag.place[first : first + self.program.n_ranks]

    @property
    def ends(self) -> BoolArray:
        """Nodes at which the run may end, ends of calls and of ranks, in the order, shape (n_nodes,)."""
        ends = np.zeros(len(self.dag), dtype=bool)
        ends[self.end_node] = True
        ends[self.rank_node] = True
        return ends

    def edges(self, name: str) -> IntArray:
        """Where the edges of a part stand in the graph's order, shape (n,): its i-th edge is the graph's ``edges(name)[i]``."""
        positions = np.flatnonzero(self.along(name))
        place = np.empty_like(positions)
        place[self.dag.edge[positions] - self._before(name)] = positions
        return place

    def along(self, name: str) -> BoolArray:
        """Which of the graph's edges are of a part, in its order, shape (n_edges,)."""
        before = self._before(name)
        return (self.dag.edge >= before) & (self.dag.edge < before + len(self.part(name)))

    def _before(self, name: str) -> int:
        """Builder's edges before those of a part."""
        names = [part.name for part in self.parts]
        if name not in names:
            raise KeyError(name)
        return sum(len(part.of) for part in self.parts[: names.index(name)])

    def in_order(self, by_part: dict[str, IntArray]) -> IntArray:
        """Values of the builder's edges by part in the graph's order, shape (n_edges,)."""
        return np.concatenate([by_part[part.name] for part in self.parts])[self.dag.edge]

    def part(self, name: str) -> Numbers:
        """What the edges of a part belong to, shape (n,); none where the graph has no such part."""
        return next((part.of for part in self.parts if part.name == name), np.zeros(0, dtype=np.int32))


def lay_out(program: Program, eager: BoolArray, *, gaps: bool = False) -> RunGraph:
    """Build a program's graph.

    Parameters
    ----------
    program : Program
        Calls and messages.
    eager : array of bool, shape (n_messages,)
        Messages whose sends do not wait.
    gaps : bool
        Whether sends, and receives, of a rank keep a least distance.

    Raises
    ------
    DataError
        Calls wait for one another in a circle; it is told rank by rank.
    """
    n_partial = len(program.groups.where(Flow.UP))
    n_nodes = 1 + 2 * len(program.calls) + program.n_ranks + len(program.groups) + n_partial
    numbers = number_type(n_nodes)
    edges = [
        *_in_ranks(program, numbers),
        *_narrowed(_of_messages(program, eager), numbers),
        *_narrowed(_of_groups(program), numbers),
        *(_narrowed((_gaps(program),), numbers) if gaps else ()),
    ]
    parts = tuple(Part(name, of) for name, of, _, _ in edges)
    tail, head = (np.concatenate([each[side] for each in edges]) for side in (2, 3))
    del edges
    try:
        dag = build_dag(n_nodes, tail, head, np.broadcast_to(np.int64(0), len(tail)))
    except Cycle as cycle:
        raise deadlock(program, cycle.nodes) from cycle
    return RunGraph(program, eager, dag, parts)


def _narrowed(edges: tuple[Edges, ...], numbers: type[np.signedinteger[Any]]) -> list[Edges]:
    """Edges in numbers of this type."""
    return [(name, of.astype(numbers), tail.astype(numbers), head.astype(numbers)) for name, of, tail, head in edges]


def _start(call: Numbers) -> Numbers:
    return 1 + 2 * call


def _end(call: Numbers) -> Numbers:
    """End of a call; of call -1, before a rank's first, the start of the run."""
    return 2 + 2 * call


def _in_ranks(program: Program, numbers: type[np.signedinteger[Any]]) -> tuple[Edges, ...]:
    """Edges along the ranks, in numbers of this type."""
    calls, n_ranks = program.calls, program.n_ranks
    every = np.arange(len(calls) + n_ranks, dtype=numbers)
    each = every[: len(calls)]
    before = np.concatenate((calls.before, np.where(np.diff(calls.first) > 0, calls.first[1:] - 1, -1))).astype(numbers)
    rank_end = 1 + 2 * len(calls) + np.arange(n_ranks, dtype=numbers)
    return (
        ("compute", every, _end(before), np.concatenate((_start(each), rank_end))),
        ("own", each, _start(each), _end(each)),
    )


def _of_messages(program: Program, eager: BoolArray) -> tuple[Edges, ...]:
    """Edges between the ends of messages."""
    messages = program.messages
    send, recv = _start(messages.send_call), _start(messages.recv_call)
    received, sent = messages.recv_done >= 0, messages.send_done >= 0
    picked = (
        ("arrive", received, send, messages.recv_done),
        ("release", sent & ~eager, recv, messages.send_done),
        ("send_wait", sent & (messages.send_done != messages.send_call), send, messages.send_done),
        ("recv_wait", received & (messages.recv_done != messages.recv_call), recv, messages.recv_done),
    )
    return tuple((name, np.flatnonzero(mask), tail[mask], _end(done[mask])) for name, mask, tail, done in picked)


def _of_groups(program: Program) -> tuple[Edges, ...]:
    """Edges of collective operations: into the meeting point from all, and out of it, or out of the root, to those who wait."""
    groups = program.groups
    first = 1 + 2 * len(program.calls) + program.n_ranks
    meeting = first + groups.operation
    # Partial sums: a chain of meeting points, each of one member and those before it.
    partial = groups.where(Flow.UP)
    meeting[partial] = first + len(groups) + np.arange(len(partial))
    linked = np.flatnonzero(np.diff(groups.operation[partial]) == 0)
    gather = groups.where(Flow.ALL, Flow.TO_ROOT, Flow.UP)
    member = np.concatenate((gather, partial[linked + 1]))
    before = np.concatenate((_start(groups.call[gather]), meeting[partial[linked]]))
    waits = np.where(groups.flow[groups.operation] == Flow.TO_ROOT, groups.is_root, True)
    waits &= (groups.flow[groups.operation] != Flow.FROM_ROOT) | ~groups.is_root
    spread = np.flatnonzero(waits)
    root = _start(groups.root[groups.operation])
    source = np.where(groups.flow[groups.operation] == Flow.FROM_ROOT, root, meeting[groups.until])
    return (
        ("gather", member, before, meeting[member]),
        ("spread", spread, source[spread], _end(groups.call[spread])),
    )


def _gaps(program: Program) -> Edges:
    """From every send to the rank's next, and from every receive; a part of the message that is sent or received first."""
    calls, messages = program.calls, program.messages
    found = []
    for kinds, of_message in (((Kind.SEND, Kind.ISEND), messages.send), ((Kind.RECV, Kind.IRECV), messages.recv)):
        order = np.argsort(of_message)
        event = of_message[order]
        call = calls.call[event]
        next_is_mine = (calls.rank[call][1:] == calls.rank[call][:-1]) & np.isin(program.table.kind[calls.rows[event[:-1]]], kinds)
        next_is_mine &= call[1:] != call[:-1]
        found.append((order[:-1][next_is_mine], call[:-1][next_is_mine], call[1:][next_is_mine]))
    of, tail, head = (np.concatenate(each) for each in zip(*found, strict=True))
    return "gap", of, _start(tail), _start(head)
