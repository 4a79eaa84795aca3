"""All ranks as one graph of moments: unchanged, it gives the recorded times to the nanosecond."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.graph.dag import Cycle, Dag, build_dag, forward
from mlperf.traces.ranks.profiled.program import NOBODY, Program, program_of

HINT = "Clocks of ranks that disagree can do that: the trace must be on one clock."


@dataclass(frozen=True, slots=True, eq=False)
class RankGraph:
    """Ranks joined by their collective operations.

    Attributes
    ----------
    table : EventTable
    programs : tuple of Program
        One a rank.
    dag : Dag
        Edges in the builder's order are ``dag.edge``.
    rows : array of int64, shape (n_items,)
        Rows of all calls and activities.
    begin, end : array of int64, shape (n_items,)
        Builder's nodes at which each begins and ends.
    run_edge : array of int64, shape (n_items,)
        Builder's edge whose weight is how long the item itself takes: a duration, the tail of a wait, or what a collective
        operation takes after its last member has come.
    wait_edge : array of int64, shape (n_items,)
        Builder's edge whose weight is the delay that nothing explains: the gap before a call, or before an activity that was ready.
    launch_edge : array of int64, shape (n_items,)
        Of an activity that only its launch kept waiting, the `wait_edge` of that call; else its own.
    ready_ns : array of int64, shape (n_items,)
        When its device was ready for an activity, launch aside.
    operation : array of int64, shape (n_items,)
        Number of the collective operation that an item is a member of; -1: none, or one that cannot be joined.
    weight_ns : array of int64, shape (n_edges,)
        Weights in the builder's order.
    origin_ns : int
        Time of 0 in the graph on the table's clock.
    n_torn : int
        Collective operations that end on one rank before they begin on another: left apart.
    """

    table: EventTable
    programs: tuple[Program, ...]
    dag: Dag
    rows: IntArray
    begin: IntArray
    end: IntArray
    run_edge: IntArray
    wait_edge: IntArray
    launch_edge: IntArray
    ready_ns: IntArray
    operation: IntArray
    weight_ns: IntArray
    origin_ns: int
    n_torn: int

    def times(self, weight_ns: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """When all items begin and end, nanoseconds since `origin_ns`; with other weights in the builder's order."""
        weights = self.weight_ns if weight_ns is None else weight_ns
        found = forward(self.dag, weights[self.dag.edge])[self.dag.place]
        return found[self.begin], found[self.end]


class _Edges:
    """Edges as they are added."""

    def __init__(self) -> None:
        self.tail: list[int] = []
        self.head: list[int] = []
        self.weight: list[int] = []

    def add(self, tail: int, head: int, weight: int) -> int:
        self.tail.append(tail)
        self.head.append(head)
        self.weight.append(weight)
        return len(self.tail) - 1


def build_graph(table: EventTable) -> RankGraph:
    """Join the ranks of a trace.

    Host calls of a rank follow each other; an activity needs its launch, the one before on its stream, and what its stream waits
    for; a synchronising call returns after what it waits for; members of a collective operation proceed when the last has begun.

    Raises
    ------
    DataError
        There is nothing on any device, or what the trace says goes round in a circle.
    """
    on_device = (table.kind == Kind.KERNEL) | ((table.kind == Kind.COLL) & (table.device != UNSET))
    ranks = np.unique(table.rank[on_device & (table.rank >= 0)]).tolist()
    if not ranks:
        hint = f"A trace of the host alone tells no what-ifs{_on_host(table)}. {table.met}".rstrip()
        raise DataError("holds no kernels", place=table.place, hint=hint)
    programs = tuple(program_of(table, int(rank)) for rank in ranks)
    rows = np.concatenate([np.concatenate((each.calls, each.activities)) for each in programs])
    operation, n_operations, n_torn = _operations(table, rows)
    origin = int(table.start_ns[rows].min())
    start, end = table.start_ns[rows] - origin, table.end_ns[rows] - origin
    edges = _Edges()
    n_items = len(rows)
    source, ready, meeting = 2 * n_items, 2 * n_items + 1, 3 * n_items + 1
    parts = [np.full(n_items, NOBODY, dtype=np.int64) for _ in range(4)]
    first = 0
    for program in programs:
        _add_calls(edges, program, first, start, end, parts, source)
        _add_activities(edges, program, first, start, end, parts, (source, ready))
        first += len(program.calls) + len(program.activities)
    _add_operations(edges, operation, n_operations, start, end, parts[0], meeting)
    run_edge, wait_edge, launch_edge, ready_ns = parts
    try:
        dag = build_dag(meeting + n_operations, edges.tail, edges.head, edges.weight)
    except Cycle as circle:
        names = table.text(table.name[rows[np.unique(circle.nodes[circle.nodes < 2 * n_items] // 2)]])
        raise DataError(f"events wait for each other in a circle: {', '.join(names[:5])}", hint=HINT) from None
    numbers = np.arange(n_items)
    weights = np.array(edges.weight, dtype=np.int64)
    return RankGraph(
        table, programs, dag, rows, 2 * numbers, 2 * numbers + 1, run_edge, wait_edge, launch_edge, ready_ns, operation, weights,
        origin, n_torn
    )  # fmt: skip


def _on_host(table: EventTable) -> str:
    """Where ranks whose hosts exchange are judged; empty where they do not."""
    return ": mlperf record advise tells which rank the others wait for" if (table.kind == Kind.COLL).any() else ""


def _operations(table: EventTable, rows: IntArray) -> tuple[IntArray, int, int]:
    """Number of the collective operation of each item, their number, and how many are torn."""
    member = np.flatnonzero((table.kind[rows] == Kind.COLL) & (table.corr[rows] != UNSET))
    found = np.full(len(rows), NOBODY, dtype=np.int64)
    if not len(member):
        return found, 0, 0
    _, number = np.unique(table.corr[rows[member]], return_inverse=True)
    number = number.reshape(-1)
    n_found = int(number.max()) + 1
    latest = np.full(n_found, np.iinfo(np.int64).min)
    np.maximum.at(latest, number, table.start_ns[rows[member]])
    earliest = np.full(n_found, np.iinfo(np.int64).max)
    np.minimum.at(earliest, number, table.end_ns[rows[member]])
    torn: BoolArray = earliest < latest
    whole = np.bincount(number, weights=(table.flags[rows[member]] & int(Flag.UNMATCHED)) > 0, minlength=n_found) == 0
    found[member] = np.where(torn[number] | ~whole[number], NOBODY, number)
    return found, n_found, int(np.count_nonzero(torn & whole))


def _add_calls(
    edges: _Edges, program: Program, first: int, start: IntArray, end: IntArray, parts: list[IntArray], source: int
) -> None:
    """Host calls: each after the one before, some after what they wait for."""
    run_edge, wait_edge, launch_edge, _ = parts
    n_calls = len(program.calls)
    for place in range(n_calls):
        item = first + place
        before = program.before[place]
        tail, since = (2 * (first + before) + 1, int(end[first + before])) if before >= 0 else (source, 0)
        wait_edge[item] = launch_edge[item] = edges.add(tail, 2 * item, int(start[item]) - since)
        awaited = program.awaited[place]
        own = int(end[item] - start[item])
        if awaited >= 0:
            activity = first + n_calls + awaited
            tail_ns = int(end[item] - end[activity])
            waited = end[activity] > start[item]
            own = min(own, tail_ns) if waited else own
            edges.add(2 * activity + 1, 2 * item + 1, tail_ns if waited else 0)
        run_edge[item] = edges.add(2 * item, 2 * item + 1, own)


def _add_activities(
    edges: _Edges, program: Program, first: int, start: IntArray, end: IntArray, parts: list[IntArray], nodes: tuple[int, int]
) -> None:
    """Device activities: ready when launched, when the stream is free, and when what it waits for is done."""
    run_edge, wait_edge, launch_edge, ready_ns = parts
    source, ready = nodes
    n_calls = len(program.calls)
    for place in range(len(program.activities)):
        item = first + n_calls + place
        node = ready + item
        begins, when = int(start[item]), 0
        for other in (program.previous[place], program.other[place]):
            if other >= 0:
                before = first + n_calls + other
                # Activities of one stream may overlap by what a clock rounds.
                slack = min(begins - int(end[before]), 0)
                edges.add(2 * before + 1, node, slack)
                when = max(when, int(end[before]) + slack)
        ready_ns[item] = when
        launch = program.launch[place]
        launched = when
        if launch >= 0:
            call = first + launch
            least = min(program.least_launch_ns, begins - int(start[call]))
            edges.add(2 * call, node, least)
            launched = int(start[call]) + least
        else:
            edges.add(source, node, 0)
        wait_edge[item] = edges.add(node, 2 * item, begins - max(when, launched))
        launch_edge[item] = wait_edge[first + launch] if launch >= 0 and launched > when else wait_edge[item]
        run_edge[item] = edges.add(2 * item, 2 * item + 1, int(end[item]) - begins)


def _add_operations(
    edges: _Edges, operation: IntArray, n_operations: int, start: IntArray, end: IntArray, run_edge: IntArray, meeting: int
) -> None:
    """Members of an operation meet when the last begins; each then takes what it took."""
    latest = np.full(n_operations, np.iinfo(np.int64).min)
    members = np.flatnonzero(operation >= 0)
    np.maximum.at(latest, operation[members], start[members])
    for item in members.tolist():
        node = meeting + int(operation[item])
        edges.add(2 * item, node, 0)
        edges.weight[run_edge[item]] = 0
        run_edge[item] = edges.add(node, 2 * item + 1, int(end[item] - latest[operation[item]]))
