"""Every operation of every step by itself: what the step would take if that one took its typical time, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.graph.dag import backward, forward
from mlperf.traces.ranks.job_graph import JobGraph
from mlperf.traces.ranks.job_times import JobTimes, by_node
from mlperf.traces.replay.avoiding import longest_avoiding


@dataclass(frozen=True, slots=True, eq=False)
class StepSweep:
    """One step without gaps, and T' under every edit of one moment; nanoseconds, exact.

    Attributes
    ----------
    graph : JobGraph
        The step's.
    time_ns, rest_ns, avoiding_ns : array of int64, shape (n_nodes,)
        When each node happens, the longest way from it to the end, the longest path that avoids it; in the graph's order.
    total_ns : int
        T0.
    """

    graph: JobGraph
    time_ns: IntArray
    rest_ns: IntArray
    avoiding_ns: IntArray
    total_ns: int

    @property
    def start_ns(self) -> IntArray:
        """Starts of operations, shape (n_operations,)."""
        return self.time_ns[self.graph.start_node]

    def moved(self, node: IntArray, time_ns: IntArray) -> IntArray:
        """T' if each of these nodes, alone, happened at that time."""
        return np.asarray(np.maximum(self.avoiding_ns[node], time_ns + self.rest_ns[node]))


def step_sweep(graph: JobGraph, times: JobTimes, step: int) -> StepSweep:
    """Sweep one step (by its place, from 0)."""
    dag = graph.dag
    weight = by_node(graph, np.zeros(graph.n_operations, dtype=np.int64), times.own_ns[:, step])[dag.head]
    ends = np.zeros(len(dag), dtype=np.bool_)
    ends[graph.end_node] = True
    time = forward(dag, weight)
    rest = backward(dag, weight, ends)
    return StepSweep(graph, time, rest, longest_avoiding(dag, weight, time, rest, ends), int(time[ends].max()))


def single_savings(graph: JobGraph, times: JobTimes) -> IntArray:
    """What each step saves if one operation alone took its typical time, shape (n_operations, n_steps), nanoseconds.

    One sweep a step answers all its operations at once.
    """
    saved = np.empty_like(times.own_ns)
    for step in range(saved.shape[1]):
        swept = step_sweep(graph, times, step)
        end = graph.end_node
        saved[:, step] = swept.total_ns - swept.moved(end, swept.time_ns[end] - times.own_ns[:, step] + times.typical_ns)
    return saved
