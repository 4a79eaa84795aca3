"""Many variants of one run replayed together: lanes that differ in a few edges or times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.jit import jit
from mlperf.traces.graph.dag import NEVER, Dag, Numbers

LANES = 256
"""Lanes a block: the times of one node stay in the cache."""
NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What one lane has otherwise than the run itself.

    Attributes
    ----------
    edge, weight_ns : array of int64, shape (n_changed_edges,)
        Edges in the graph's order (see `RunGraph.edges`), and their times; later ones win.
    node, time_ns : array of int64, shape (n_moved_nodes,)
        Nodes in the graph's order, and when they happen whatever comes before them.
    """

    edge: IntArray = field(default_factory=lambda: NONE)
    weight_ns: IntArray = field(default_factory=lambda: NONE)
    node: IntArray = field(default_factory=lambda: NONE)
    time_ns: IntArray = field(default_factory=lambda: NONE)


def changed_edges(before_ns: IntArray, after_ns: IntArray) -> Change:
    """The edges in which two sets of weights differ, as a lane."""
    edge = np.flatnonzero(before_ns != after_ns)
    return Change(edge, after_ns[edge])


def replay_batch(dag: Dag, weight_ns: IntArray, ends: BoolArray, lanes: Sequence[Change], block: int = LANES) -> IntArray:
    """T of every lane.

    Parameters
    ----------
    dag : Dag
        The graph.
    weight_ns : array of int64, shape (n_edges,)
        Times along its edges where a lane has no other.
    ends : array of bool, shape (n_nodes,)
        Nodes at which the run may end: `RunGraph.ends`, or those of one rank.
    lanes : sequence of Change
        The variants.
    block : int
        Lanes that are carried along together.

    Returns
    -------
    array of int64, shape (n_lanes,)
        The last time of any end, nanoseconds.

    Notes
    -----
    Times are kept only while an edge still needs them: a few a rank, not one a node.
    """
    slot, n_slots = _slots(dag.first, dag.tail)
    found = [_block(dag, weight_ns, ends, slot, n_slots, lanes[start : start + block]) for start in range(0, len(lanes), block)]
    return np.concatenate([*found, NONE])


def _block(dag: Dag, weight_ns: IntArray, ends: BoolArray, slot: IntArray, n_slots: int, lanes: Sequence[Change]) -> IntArray:
    """One block of lanes."""
    edge, weight, edge_lane = _gathered([lane.edge for lane in lanes], [lane.weight_ns for lane in lanes], len(dag.tail))
    node, time, node_lane = _gathered([lane.node for lane in lanes], [lane.time_ns for lane in lanes], len(dag))
    state = np.zeros((n_slots + 1, len(lanes)), dtype=np.int64)
    state[-1] = NEVER
    _forward_lanes(dag.first, dag.tail, weight_ns, ends, slot, state, edge, weight, edge_lane, node, time, node_lane)
    return np.asarray(state[-1])


def _gathered(where: list[IntArray], values: list[IntArray], end: int) -> tuple[IntArray, IntArray, IntArray]:
    """All lanes' changes by where they are, closed by one that is nowhere; with the lane of each."""
    lane = np.repeat(np.arange(len(where)), [len(each) for each in where])
    place, value = np.concatenate([*where, NONE]), np.concatenate([*values, NONE])
    order = np.argsort(place, kind="stable")
    return np.append(place[order], end), value[order], lane[order]


@jit
def _slots(first: Numbers, tail: Numbers) -> tuple[IntArray, int]:
    """A place for every node's time, free again after the last edge that needs it."""
    n_nodes = len(first) - 1
    last = np.full(n_nodes, -1, dtype=np.int64)
    for node in range(n_nodes):
        for edge in range(first[node], first[node + 1]):
            last[tail[edge]] = node
    slot = np.empty(n_nodes, dtype=np.int64)
    free = np.empty(n_nodes, dtype=np.int64)
    n_free, n_slots = 0, 0
    for node in range(n_nodes):
        if n_free > 0:
            n_free -= 1
            slot[node] = free[n_free]
        else:
            slot[node] = n_slots
            n_slots += 1
        for edge in range(first[node], first[node + 1]):
            source = tail[edge]
            if last[source] == node:
                last[source] = -1
                free[n_free] = slot[source]
                n_free += 1
        if last[node] == -1:
            free[n_free] = slot[node]
            n_free += 1
    return slot, n_slots


@jit
def _forward_lanes(
    first: Numbers,
    tail: Numbers,
    weight_ns: IntArray,
    ends: BoolArray,
    slot: IntArray,
    state: IntArray,
    edges: IntArray,
    weights: IntArray,
    edge_lane: IntArray,
    nodes: IntArray,
    times: IntArray,
    node_lane: IntArray,
) -> None:
    """One pass in topological order over all lanes; the last row of the state takes the largest time of any end."""
    n_lanes = state.shape[1]
    add = np.empty(n_lanes, dtype=np.int64)
    next_edge, next_node = 0, 0
    for node in range(len(first) - 1):
        own = state[slot[node]]
        if first[node] == first[node + 1]:
            own[:] = 0
        for edge in range(first[node], first[node + 1]):
            before = state[slot[tail[edge]]]
            add[:] = weight_ns[edge]
            while edges[next_edge] == edge:
                add[edge_lane[next_edge]] = weights[next_edge]
                next_edge += 1
            if edge == first[node]:
                for lane in range(n_lanes):
                    own[lane] = before[lane] + add[lane]
            else:
                for lane in range(n_lanes):
                    own[lane] = max(own[lane], before[lane] + add[lane])
        while nodes[next_node] == node:
            own[node_lane[next_node]] = times[next_node]
            next_node += 1
        if ends[node]:
            for lane in range(n_lanes):
                state[-1, lane] = max(state[-1, lane], own[lane])
