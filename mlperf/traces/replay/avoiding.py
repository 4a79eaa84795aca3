"""The longest path that avoids a node, for every node at once."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.jit import jit
from mlperf.traces.graph.dag import NEVER, Dag, Numbers


def longest_avoiding(
    dag: Dag, weight_ns: IntArray, time_ns: IntArray, rest_ns: IntArray, ends: BoolArray, fixed: IntArray | None = None
) -> IntArray:
    """For every node the length of the longest path to any end that does not run through it.

    Positions grow along a path, so one that avoids a node y ends before it, or has exactly one edge that jumps it: the longest such
    takes ``time[tail] + weight + rest[head]``. Where y is not on one longest path of the graph, that path answers; where it is, an
    edge jumps a run of that path, and all its nodes are answered by maxima over runs, each put into at most 2 log2 n places of a
    tree.

    Parameters
    ----------
    dag : Dag
        The graph; its only node without an edge into it is the first.
    weight_ns : array of int64, shape (n_edges,)
        Times along its edges.
    time_ns : array of int64, shape (n_nodes,)
        From :func:`~mlperf.traces.graph.dag.forward`.
    rest_ns : array of int64, shape (n_nodes,)
        From :func:`~mlperf.traces.graph.dag.backward` to these ends.
    ends : array of bool, shape (n_nodes,)
        Nodes at which the run may end.
    fixed : array of int64, shape (n_fixed,), optional
        Nodes that happen when an edit says: edges into them weigh `NEVER`, and paths may begin there.

    Returns
    -------
    array of int64, shape (n_nodes,)
        Nanoseconds; far below 0 (less than half of `NEVER`) where every path runs through the node.
    """
    begins = np.zeros(0, dtype=np.int64) if fixed is None else np.sort(fixed)
    on_path = critical_nodes(dag, weight_ns, time_ns, ends, begins)
    upto = np.cumsum(on_path, dtype=np.int32)
    best = _run_maxima(dag.first, dag.tail, weight_ns, time_ns, rest_ns, upto, int(upto[-1]))
    del upto
    ended = np.where(ends, time_ns, NEVER)
    np.maximum.accumulate(ended, out=ended)
    avoiding = np.full(len(dag), ended[-1], dtype=np.int64)
    place = np.flatnonzero(on_path)
    # What has ended before the node; before the first there is nothing.
    avoiding[place] = np.maximum(best, np.where(place > 0, ended[place - 1], NEVER))
    if len(begins):
        begun = np.append(np.maximum.accumulate((time_ns + rest_ns)[begins][::-1])[::-1], NEVER)
        avoiding[place] = np.maximum(avoiding[place], begun[np.searchsorted(begins, place, side="right")])
    return avoiding


def critical_nodes(dag: Dag, weight_ns: IntArray, time_ns: IntArray, ends: BoolArray, begins: IntArray) -> BoolArray:
    """Nodes of one longest path to any end, shape (n_nodes,), from the first node or one of ``begins``."""
    on_path = np.zeros(len(dag), dtype=np.bool_)
    is_begin = np.zeros(len(dag), dtype=np.bool_)
    is_begin[begins] = True
    _mark(dag.first, dag.tail, weight_ns, time_ns, int(np.argmax(np.where(ends, time_ns, NEVER))), is_begin, on_path)
    return on_path


@jit
def _mark(
    first: Numbers, tail: Numbers, weight_ns: IntArray, time_ns: IntArray, node: int, is_begin: BoolArray, on_path: BoolArray
) -> None:
    """Back from a node along edges that decide when their heads happen."""
    on_path[node] = True
    while first[node] < first[node + 1] and not is_begin[node]:
        for edge in range(first[node], first[node + 1]):
            if time_ns[tail[edge]] + weight_ns[edge] == time_ns[node]:
                break
        node = tail[edge]
        on_path[node] = True


@jit
def _run_maxima(
    first: Numbers, tail: Numbers, weight_ns: IntArray, time_ns: IntArray, rest_ns: IntArray, upto: Numbers, n_path: int
) -> IntArray:
    """Largest value among the edges that jump each node of the path; ``upto`` counts its nodes up to each position."""
    tree = np.full(2 * n_path, NEVER)
    for node in range(1, len(first) - 1):
        end = upto[node - 1] + n_path
        for edge in range(first[node], first[node + 1]):
            left, right = upto[tail[edge]] + n_path, end
            value = time_ns[tail[edge]] + weight_ns[edge] + rest_ns[node]
            while left < right:
                if left & 1:
                    tree[left] = max(tree[left], value)
                    left += 1
                if right & 1:
                    right -= 1
                    tree[right] = max(tree[right], value)
                left >>= 1
                right >>= 1
    for index in range(2, 2 * n_path):
        tree[index] = max(tree[index], tree[index >> 1])
    return tree[n_path:]
