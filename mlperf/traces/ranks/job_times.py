"""What operations take by themselves, apart from waiting: gaps, computations, transfers, and what is typical of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.jit import jit
from mlperf.traces.ranks.job_graph import JobGraph
from mlperf.traces.ranks.job_grid import JobGrid
from mlperf.traces.ranks.operations import OPERATION_KINDS

CLOCK_SLACK_NS = 10_000_000
"""A transfer that ends this much before the last member started is taken as 0: the clocks disagree."""


LONGEST_NS = 2.0**60
"""Sums of times beyond it could overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class JobTimes:
    """Times that are an operation's own, nanoseconds.

    Attributes
    ----------
    gap_ns : array of int64, shape (n_operations, n_steps)
        From the latest end among those it follows (the start of the step where there is none) to its start; may be negative.
    own_ns : array of int64, shape (n_operations, n_steps)
        Duration of a computation; of an exchange, from the latest start among its members to its end here.
    typical_ns : array of int64, shape (n_operations,)
        Of the operation's kind over all ranks and steps: mean of computations, median of transfers.
    measured_ns : array of int64, shape (n_steps,)
        Last end of each step.
    n_clamped : int
        Transfers that were taken as 0.
    """

    gap_ns: IntArray
    own_ns: IntArray
    typical_ns: IntArray
    measured_ns: IntArray
    n_clamped: int


def job_times(grid: JobGrid, graph: JobGraph) -> JobTimes:
    """Take waiting out of a job's measured operations.

    Raises
    ------
    DataError
        The operations of a step take no time, or longer than whole nanoseconds can hold.

    References
    ----------
    StragglerAnalysis (Lin et al., OSDI 2025), section on operation traces; README of the open data.
    """
    start = np.ascontiguousarray(grid.start_ns.reshape(len(grid.steps), -1).T)
    end = np.ascontiguousarray(grid.end_ns.reshape(len(grid.steps), -1).T)
    gap = start - _latest(end[graph.before], graph.after, len(start))
    own = end - start
    shared = graph.exchange >= 0
    latest = _latest(
        start[shared][order := np.argsort(graph.exchange[shared], kind="stable")], graph.exchange[shared][order], graph.n_exchanges
    )
    transfer = end[shared] - latest[graph.exchange[shared]]
    clamped = transfer <= -CLOCK_SLACK_NS
    own[shared] = np.where(clamped, 0, transfer)
    _check_sum(grid, gap, own)
    return JobTimes(gap, own, typical_times(grid, own), end.max(axis=0), int(clamped.sum()))


def _check_sum(grid: JobGrid, gap_ns: IntArray, own_ns: IntArray) -> None:
    """DataError: a step takes no time at all, or so long that whole nanoseconds cannot hold it."""
    total = np.abs(gap_ns).sum(axis=0, dtype=float) + np.abs(own_ns).sum(axis=0, dtype=float)
    if (wrong := (total > LONGEST_NS) | (np.abs(own_ns).sum(axis=0, dtype=float) == 0)).any():
        step = int(np.argmax(wrong))
        expected = f"more than 0 and at most {LONGEST_NS / 1e9:.3g} s"
        raise DataError(
            f"got operations that take {total[step] / 1e9:.3g} s together, expected {expected}",
            place=f"{grid.place}, step {grid.steps[step]}",
            hint="start_s and duration_s are seconds from the start of the step.",
        )


def _latest(values: IntArray, group: IntArray, n_groups: int) -> IntArray:
    """Largest value of each group, shape (n_groups, n_steps), of rows that are sorted by group; 0 where a group has none."""
    found = np.zeros((n_groups, values.shape[1]), dtype=np.int64)
    if len(group):
        first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
        found[group[first]] = np.maximum.reduceat(values, first, axis=0)
    return found


def typical_times(grid: JobGrid, own_ns: IntArray) -> IntArray:
    """Mean of computations and median of transfers by kind, for every operation, shape (n_operations,)."""
    kind = np.tile(grid.operation, grid.data_parallel)
    typical = np.zeros(len(kind), dtype=np.int64)
    for number, name in enumerate(grid.names):
        rows = kind == number
        if rows.any():
            middle = np.median(own_ns[rows]) if OPERATION_KINDS[name].is_communication else np.mean(own_ns[rows])
            typical[rows] = int(np.rint(middle))
    return typical


@dataclass(frozen=True, slots=True, eq=False)
class Scenarios:
    """What if some operations kept their own times and the others took the typical one of their kind.

    Attributes
    ----------
    kept : array of bool, shape (n_scenarios, n_operations)
        Operations that keep their own times.
    gaps : array of bool, shape (n_scenarios,)
        Whether gaps are kept; else they are 0.
    """

    kept: BoolArray
    gaps: BoolArray


def step_times(graph: JobGraph, times: JobTimes, scenarios: Scenarios) -> IntArray:
    """Step times of all scenarios in one batch, shape (n_scenarios, n_steps), nanoseconds."""
    measured = by_node(graph, times.gap_ns, times.own_ns)
    otherwise = by_node(graph, np.zeros_like(times.typical_ns), times.typical_ns)
    gaps = np.broadcast_to(scenarios.gaps, (graph.n_operations, len(scenarios.gaps)))
    kept = np.ascontiguousarray(by_node(graph, gaps, scenarios.kept.T).T)
    return _scenario_ends(graph.dag.first, graph.dag.tail, measured, otherwise, kept)


@jit
def _scenario_ends(first: IntArray, tail: IntArray, measured_ns: IntArray, otherwise_ns: IntArray, kept: BoolArray) -> IntArray:
    """Last end of every step in every scenario; all edges into a node weigh as measured, or the one other time."""
    n_nodes, n_steps = measured_ns.shape
    time = np.empty((n_nodes, n_steps), dtype=np.int64)
    last = np.zeros((len(kept), n_steps), dtype=np.int64)
    for scenario in range(len(kept)):
        for node in range(n_nodes):
            row = time[node]
            if first[node] < first[node + 1]:
                row[:] = time[tail[first[node]]]
                for edge in range(first[node] + 1, first[node + 1]):
                    np.maximum(row, time[tail[edge]], row)
            else:
                row[:] = 0
            if kept[scenario, node]:
                np.add(row, measured_ns[node], row)
            else:
                np.add(row, otherwise_ns[node], row)
            np.maximum(last[scenario], row, last[scenario])
    return last


def replay(graph: JobGraph, gap_ns: IntArray, own_ns: IntArray) -> IntArray:
    """Last end of a step in every lane, shape (n_lanes,), nanoseconds.

    Parameters
    ----------
    gap_ns, own_ns : array of int64, shape (n_operations, n_lanes)
        As `JobTimes` holds them; a lane is a step under some assumption.
    """
    return last_end(graph, by_node(graph, gap_ns, own_ns))


def last_end(graph: JobGraph, weight_ns: IntArray) -> IntArray:
    """Last end in every lane, shape (n_lanes,), from weights of shape (n_nodes, n_lanes): all edges into a node weigh the same."""
    latest: IntArray = lanes_forward(graph.dag.first, graph.dag.tail, weight_ns).max(axis=0)
    return latest


def by_node(graph: JobGraph, at_starts: NDArray[Any], at_ends: NDArray[Any]) -> NDArray[Any]:
    """Values of starts and ends of operations, and zero for meetings and the start of the step, in topological order."""
    meetings = np.zeros((graph.n_exchanges + 1, *at_ends.shape[1:]), dtype=at_ends.dtype)
    return np.concatenate((at_starts, at_ends, meetings))[graph.dag.node]


@jit
def lanes_forward(first: IntArray, tail: IntArray, weight_ns: IntArray) -> IntArray:
    """When each node happens in every lane, shape (n_nodes, n_lanes): one pass in topological order over all lanes at once."""
    time = np.zeros_like(weight_ns)
    for node in range(len(first) - 1):
        row = time[node]
        if first[node] < first[node + 1]:
            row[:] = time[tail[first[node]]]
            for edge in range(first[node] + 1, first[node + 1]):
                np.maximum(row, time[tail[edge]], row)
        np.add(row, weight_ns[node], row)
    return time
