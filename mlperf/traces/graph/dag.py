"""Moments as nodes, least times between them as edges; when everything happens is the longest path to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.jit import jit
from mlperf.traces.events.table import is_held

Numbers: TypeAlias = NDArray[np.signedinteger[Any]]
"""Numbers of nodes and edges, in 32 bits where these are enough: half the memory."""
NEVER = int(np.iinfo(np.int64).min // 4)
"""Minus infinity of whole nanoseconds, which a few thousand may still be added to."""


@dataclass(frozen=True, slots=True, eq=False)
class Dag:
    """Nodes in a topological order, and the edges into each.

    Attributes
    ----------
    first : array of int32 or int64, shape (n_nodes + 1,)
        Edges into node i are ``first[i]`` to ``first[i + 1]``.
    tail : array of int32 or int64, shape (n_edges,)
        Where each edge starts; always a smaller number than the node it leads to.
    weight_ns : array of int64, shape (n_edges,)
        Least time from one to the other, nanoseconds; may be negative. One number for all takes no memory.
    edge : array of int32 or int64, shape (n_edges,)
        The number that the edge had where the graph was built.
    node : array of int32 or int64, shape (n_nodes,)
        The number that the node had where the graph was built.
    place : array of int32 or int64, shape (n_nodes,)
        The other way round: where the builder's node i stands here.
    """

    first: Numbers
    tail: Numbers
    weight_ns: IntArray
    edge: Numbers
    node: Numbers
    place: Numbers

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.node)

    @property
    def head(self) -> IntArray:
        """Where each edge leads, shape (n_edges,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))


class Cycle(Exception):  # noqa: N818 - caught by the builder, who says it in the run's words
    """The edges go round in a circle; ``nodes`` are the builder's numbers of one circle, each waiting for the one before."""

    def __init__(self, nodes: IntArray) -> None:
        super().__init__("edges go round in a circle")
        self.nodes = nodes


def build_dag(n_nodes: int, tail: ArrayLike, head: ArrayLike, weight_ns: ArrayLike) -> Dag:
    """Sort a graph's nodes topologically.

    Parameters
    ----------
    n_nodes : int
        Nodes are 0 to ``n_nodes - 1``; one without an edge into it is a start, and happens at 0.
    tail, head, weight_ns : array of int, shape (n_edges,)
        From, to and least time between, nanoseconds.

    Raises
    ------
    Cycle
        There is no order: every node of the circle waits for another.
    """
    tail, head = _as_numbers(tail), _as_numbers(head)
    if len(tail) and (min(tail.min(), head.min()) < 0 or max(tail.max(), head.max()) >= n_nodes):
        raise DataError(f"an edge leads to a node that is not among the {n_nodes}")
    none = np.zeros(0, dtype=number_type(max(n_nodes, len(tail))))
    after, n_before = _starts(tail, n_nodes, none), np.diff(_starts(head, n_nodes, none))
    out = _counted(tail, after)
    order = _topological(after, head[out], n_before.copy())
    if len(order) < n_nodes:
        raise Cycle(_circle(n_nodes, tail, head, order))
    place = np.empty_like(order)
    place[order] = np.arange(n_nodes, dtype=order.dtype)
    first = np.zeros_like(after)
    np.cumsum(n_before[order], out=first[1:])
    del n_before
    edge = _edges_in(first, place, head, order, after, out)
    weights = np.asarray(weight_ns, dtype=np.int64)
    return Dag(first, place[tail[edge]], weights[edge] if is_held(weights) else weights, edge, order, place)


def number_type(n: int) -> type[np.signedinteger[Any]]:
    """The type of numbers below ``n``: 32 bits where these are enough."""
    return np.int32 if n < 2**31 else np.int64


def _as_numbers(values: ArrayLike) -> Numbers:
    """Numbers of nodes in the type that they have, if it is one of `number_type`."""
    found = np.asarray(values)
    return found if found.dtype in (np.int32, np.int64) else found.astype(np.int64)


@jit
def _starts(key: Numbers, n_keys: int, none: Numbers) -> Numbers:
    """Where each key's entries begin once they are sorted by it, in the type of ``none``, shape (n_keys + 1,)."""
    first = np.zeros(n_keys + 1, dtype=none.dtype)
    for each in key:
        first[each + 1] += 1
    for index in range(n_keys):
        first[index + 1] += first[index]
    return first


@jit
def _counted(key: Numbers, first: Numbers) -> Numbers:
    """What sorts small numbers, equal ones as they stand: by counting."""
    free = first.copy()
    order = np.empty(len(key), dtype=first.dtype)
    for index in range(len(key)):
        order[free[key[index]]] = index
        free[key[index]] += 1
    return order


@jit
def _edges_in(first: Numbers, place: Numbers, head: Numbers, order: Numbers, after: Numbers, out: Numbers) -> Numbers:
    """Edges by head, and by tail within: the order of a node's edges does not depend on the builder's."""
    free = first.copy()
    edge = np.empty(len(head), dtype=out.dtype)
    for node in order:
        for each in out[after[node] : after[node + 1]]:
            to = place[head[each]]
            edge[free[to]] = each
            free[to] += 1
    return edge


@jit
def _topological(after: Numbers, head: Numbers, n_before: Numbers) -> Numbers:
    """Nodes as they become ready, the last ready first: ranks run on as far as they can, which keeps neighbours together."""
    n_nodes = len(n_before)
    order = np.empty(n_nodes, dtype=after.dtype)
    ready = np.empty(n_nodes, dtype=after.dtype)
    n_ready = 0
    for node in range(n_nodes - 1, -1, -1):
        if n_before[node] == 0:
            ready[n_ready] = node
            n_ready += 1
    n_done = 0
    while n_ready > 0:
        n_ready -= 1
        node = ready[n_ready]
        order[n_done] = node
        n_done += 1
        for out in range(after[node], after[node + 1]):
            following = head[out]
            n_before[following] -= 1
            if n_before[following] == 0:
                ready[n_ready] = following
                n_ready += 1
    return order[:n_done]


def _circle(n_nodes: int, tail: Numbers, head: Numbers, done: Numbers) -> IntArray:
    """One circle among the nodes that never became ready: from any of them back along what it waits for."""
    stuck = np.ones(n_nodes, dtype=bool)
    stuck[done] = False
    inside = stuck[tail] & stuck[head]
    waits_for = np.full(n_nodes, -1, dtype=np.int64)
    waits_for[head[inside]] = tail[inside]
    path, seen = [int(np.flatnonzero(stuck & (waits_for >= 0))[0])], set()
    while path[-1] not in seen:
        seen.add(path[-1])
        path.append(int(waits_for[path[-1]]))
    return np.array(path[path.index(path[-1]) : -1], dtype=np.int64)


def forward(dag: Dag, weight_ns: IntArray | None = None, fixed: tuple[ArrayLike, ArrayLike] | None = None) -> IntArray:
    """When each node happens: the longest path from any start, nanoseconds, shape (n_nodes,); starts happen at 0.

    Parameters
    ----------
    dag : Dag
        The graph.
    weight_ns : array of int64, shape (n_edges,), optional
        In place of the graph's own; an edge of `NEVER` is as good as none.
    fixed : pair of arrays, optional
        Nodes, by their places here, and the times at which they happen whatever comes before them.
    """
    weights = dag.weight_ns if weight_ns is None else weight_ns
    nodes, times = (np.asarray(each, dtype=np.int64) for each in fixed or ((), ()))
    order = np.argsort(nodes, kind="stable")
    return _forward(dag.first, dag.tail, weights, np.append(nodes[order], len(dag)), times[order])


def backward(dag: Dag, weight_ns: IntArray | None = None, ends: BoolArray | None = None) -> IntArray:
    """How long it takes at least from each node to the end: the longest path to any node, nanoseconds, 0 or more.

    With ``ends``, shape (n_nodes,), the longest path to any of these; about `NEVER` where there is none.
    """
    weights = dag.weight_ns if weight_ns is None else weight_ns
    rest = np.zeros(len(dag), dtype=np.int64) if ends is None else np.where(ends, 0, NEVER)
    return _backward(dag.first, dag.tail, weights, rest)


@jit
def _forward(first: Numbers, tail: Numbers, weight_ns: IntArray, nodes: IntArray, times: IntArray) -> IntArray:
    """One pass in topological order; fixed ``nodes`` are sorted and end in a number that no node has."""
    n_nodes = len(first) - 1
    time = np.zeros(n_nodes, dtype=np.int64)
    following = 0
    for node in range(n_nodes):
        if node == nodes[following]:
            while node == nodes[following]:
                time[node] = times[following]
                following += 1
        elif first[node] < first[node + 1]:
            latest = time[tail[first[node]]] + weight_ns[first[node]]
            for edge in range(first[node] + 1, first[node + 1]):
                latest = max(latest, time[tail[edge]] + weight_ns[edge])
            time[node] = latest
    return time


@jit
def _backward(first: Numbers, tail: Numbers, weight_ns: IntArray, rest: IntArray) -> IntArray:
    """One pass against the order, into ``rest``."""
    n_nodes = len(first) - 1
    for node in range(n_nodes - 1, -1, -1):
        if rest[node] > NEVER // 2:
            for edge in range(first[node], first[node + 1]):
                rest[tail[edge]] = max(rest[tail[edge]], rest[node] + weight_ns[edge])
    return rest
