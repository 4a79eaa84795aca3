"""Moments as nodes, least times between them as edges; when everything happens is the longest path to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.core.jit import jit

NEVER = np.iinfo(np.int64).min // 4
"""Minus infinity of whole nanoseconds, which a few thousand may still be added to."""


@dataclass(frozen=True, slots=True, eq=False)
class Dag:
    """Nodes in a topological order, and the edges into each.

    Attributes
    ----------
    first : array of int64, shape (n_nodes + 1,)
        Edges into node i are ``first[i]`` to ``first[i + 1]``.
    tail : array of int64, shape (n_edges,)
        Where each edge starts; always a smaller number than the node it leads to.
    weight_ns : array of int64, shape (n_edges,)
        Least time from one to the other, nanoseconds; may be negative.
    edge : array of int64, shape (n_edges,)
        The number that the edge had where the graph was built.
    node : array of int64, shape (n_nodes,)
        The number that the node had where the graph was built.
    place : array of int64, shape (n_nodes,)
        The other way round: where the builder's node i stands here.
    """

    first: IntArray
    tail: IntArray
    weight_ns: IntArray
    edge: IntArray
    node: IntArray
    place: IntArray

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
    tail, head = np.asarray(tail, dtype=np.int64), np.asarray(head, dtype=np.int64)
    if len(tail) and (min(tail.min(), head.min()) < 0 or max(tail.max(), head.max()) >= n_nodes):
        raise DataError(f"an edge leads to a node that is not among the {n_nodes}")
    out = np.argsort(tail, kind="stable")
    after = np.searchsorted(tail[out], np.arange(n_nodes + 1))
    order = _topological(n_nodes, after, head[out], np.bincount(head, minlength=n_nodes))
    if len(order) < n_nodes:
        raise Cycle(_circle(n_nodes, tail, head, order))
    place = np.empty(n_nodes, dtype=np.int64)
    place[order] = np.arange(n_nodes)
    # By head, and by tail within: the order of a node's edges does not depend on the builder's.
    edge = np.lexsort((place[tail], place[head]))
    first = np.searchsorted(place[head][edge], np.arange(n_nodes + 1))
    return Dag(first, place[tail][edge], np.asarray(weight_ns, dtype=np.int64)[edge], edge, order, place)


@jit
def _topological(n_nodes: int, after: IntArray, head: IntArray, n_before: IntArray) -> IntArray:
    """Nodes as they become ready, the last ready first: ranks run on as far as they can, which keeps neighbours together."""
    order = np.empty(n_nodes, dtype=np.int64)
    ready = np.empty(n_nodes, dtype=np.int64)
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


def _circle(n_nodes: int, tail: IntArray, head: IntArray, done: IntArray) -> IntArray:
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


def forward(dag: Dag, weight_ns: IntArray | None = None) -> IntArray:
    """When each node happens: the longest path from any start, nanoseconds, shape (n_nodes,); starts happen at 0."""
    return _forward(dag.first, dag.tail, dag.weight_ns if weight_ns is None else weight_ns)


def backward(dag: Dag, weight_ns: IntArray | None = None) -> IntArray:
    """How long it takes at least from each node to the end: the longest path to any node, nanoseconds, 0 or more."""
    return _backward(dag.first, dag.tail, dag.weight_ns if weight_ns is None else weight_ns)


@jit
def _forward(first: IntArray, tail: IntArray, weight_ns: IntArray) -> IntArray:
    """One pass in topological order."""
    n_nodes = len(first) - 1
    time = np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes):
        if first[node] < first[node + 1]:
            latest = time[tail[first[node]]] + weight_ns[first[node]]
            for edge in range(first[node] + 1, first[node + 1]):
                latest = max(latest, time[tail[edge]] + weight_ns[edge])
            time[node] = latest
    return time


@jit
def _backward(first: IntArray, tail: IntArray, weight_ns: IntArray) -> IntArray:
    """One pass against the order."""
    n_nodes = len(first) - 1
    rest = np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes - 1, -1, -1):
        for edge in range(first[node], first[node + 1]):
            rest[tail[edge]] = max(rest[tail[edge]], rest[node] + weight_ns[edge])
    return rest
