"""All single-event what-ifs of a run in one sweep, exactly: what T would be if one event changed, for every event."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.jit import jit
from mlperf.traces.events.kinds import UNSET
from mlperf.traces.graph.dag import NEVER, Numbers, backward
from mlperf.traces.replay.avoiding import longest_avoiding
from mlperf.traces.replay.run import Replay
from mlperf.traces.replay.times import processing
from mlperf.traces.replay.waits import Waits


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """T of a run under every edit of one event; nanoseconds, whole and exact.

    An edit that changes only when one node y happens gives ``T' = max(A[y], f'(y) + g(y))``: the longest path that avoids y, or the
    new time of y and what is left from there.

    Attributes
    ----------
    run : Replay
        The run without an edit; its `total_ns` is T0.
    waits : Waits
        Its waits.
    avoiding_ns : array of int64, shape (n_nodes,)
        A, in the graph's order.
    rest_ns : array of int64, shape (n_nodes,)
        g, the longest way from each node to the end; about `NEVER` from nodes that nothing waits for.
    wait_zero_ns : array of int64, shape (n_events,)
        T' if the event did not wait, because its partner had called in time; T0 where it does not wait.
    duration_zero_ns : array of int64, shape (n_calls,)
        T' if the call took no time, wait included; its message still travels.
    processing_zero_ns : array of int64, shape (n_calls,)
        T' if the call took no longer than it waits. Of members of collective operations: their part of its cost 0.
    compute_zero_ns : array of int64, shape (n_calls + n_ranks,)
        T' if nothing were computed before a call; at the end, after the last call of a rank.
    """

    run: Replay
    waits: Waits
    avoiding_ns: IntArray
    rest_ns: IntArray
    wait_zero_ns: IntArray
    duration_zero_ns: IntArray
    processing_zero_ns: IntArray
    compute_zero_ns: IntArray

    @property
    def total_ns(self) -> int:
        """T0."""
        return self.run.total_ns

    def moved(self, node: IntArray, time_ns: IntArray) -> IntArray:
        """T' if each of these nodes, alone, happened at that time; shapes as broadcast."""
        total = np.asarray(time_ns + self.rest_ns[node])
        return np.maximum(self.avoiding_ns[node], total, out=total)

    def compute_changed(self, compute_ns: IntArray) -> IntArray:
        """T' if the time computed before each call, and after each rank's last, alone, were this; shape (n_calls + n_ranks,)."""
        graph, calls = self.run.graph, self.run.program.calls
        before = np.concatenate((calls.before, np.where(np.diff(calls.first) > 0, calls.first[1:] - 1, UNSET)))
        time = self.run.end_ns[before]
        time[before < 0] = 0
        time += compute_ns
        del before
        heads = np.concatenate((graph.start_node, graph.rank_node))
        if len(graph.part("gap")):
            np.maximum(time, _gap_times(self.run, heads), out=time)
        total = self.moved(heads, time)
        total[np.isin(heads, self.run.fixed)] = self.total_ns
        return total


def sweep(run: Replay) -> Sweep:
    """All single-event what-ifs of a run.

    References
    ----------
    The edits are those of PerWiz (Ino et al., section 4.1); there, each took a replay of its own.
    """
    graph = run.graph
    waits, without = run.waits, _times_without_processing(run)
    rest = backward(graph.dag, run.weight_ns, graph.ends)
    avoiding = longest_avoiding(graph.dag, run.weight_ns, run.time_ns, rest, graph.ends, run.fixed)
    none = np.zeros(0, dtype=np.int64)
    bare = Sweep(run, waits, avoiding, rest, none, none, none, none)
    processing_zero = bare.moved(graph.end_node, without)
    del without
    return dataclasses.replace(
        bare,
        wait_zero_ns=_without_waits(bare),
        duration_zero_ns=bare.moved(graph.end_node, run.start_ns),
        processing_zero_ns=processing_zero,
        compute_zero_ns=bare.compute_changed(np.zeros(len(run.times.compute_ns), dtype=np.int64)),
    )


def _without_waits(bare: Sweep) -> IntArray:
    """T' for the partner's start moved to where the event does not wait."""
    waits = bare.waits
    total = np.full(len(waits.wait_ns), bare.total_ns, dtype=np.int64)
    some = waits.zero_call >= 0
    total[some] = bare.moved(bare.run.graph.start_node[waits.zero_call[some]], waits.zero_ns[some])
    return total


def _times_without_processing(run: Replay) -> IntArray:
    """When each call would end if it took no longer than it waits, shape (n_calls,)."""
    dag = run.graph.dag
    weight = processing(run.graph, run.times)
    np.subtract(run.weight_ns, weight, out=weight)
    return _latest(dag.first, dag.tail, weight, run.time_ns, run.graph.end_node)


@jit
def _latest(first: Numbers, tail: Numbers, weight_ns: IntArray, time_ns: IntArray, nodes: Numbers) -> IntArray:
    """When nodes would happen with other times along the edges into them."""
    latest = np.empty(len(nodes), dtype=np.int64)
    for index in range(len(nodes)):
        latest[index] = NEVER
        for edge in range(first[nodes[index]], first[nodes[index] + 1]):
            latest[index] = max(latest[index], time_ns[tail[edge]] + weight_ns[edge])
    return latest


def _gap_times(run: Replay, nodes: Numbers) -> IntArray:
    """When the least distance of messages lets each of these nodes happen; about `NEVER` where there is none."""
    dag = run.graph.dag
    return _latest_along(dag.first, dag.tail, run.weight_ns, run.time_ns, nodes, run.graph.along("gap"))


@jit
def _latest_along(
    first: Numbers, tail: Numbers, weight_ns: IntArray, time_ns: IntArray, nodes: Numbers, along: BoolArray
) -> IntArray:
    """When nodes would happen if only some of the edges into them counted."""
    latest = np.full(len(nodes), NEVER, dtype=np.int64)
    for index in range(len(nodes)):
        for edge in range(first[nodes[index]], first[nodes[index] + 1]):
            if along[edge]:
                latest[index] = max(latest[index], time_ns[tail[edge]] + weight_ns[edge])
    return latest
