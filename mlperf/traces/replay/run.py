"""One replay of a recorded run: every call's start and end, every wait, and the time of the whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.table import EventTable
from mlperf.traces.graph.dag import NEVER, Cycle, forward
from mlperf.traces.graph.layout import RunGraph, lay_out
from mlperf.traces.graph.program import Program, program_of
from mlperf.traces.replay.splits import Splits, split_times
from mlperf.traces.replay.times import Times, edge_weights
from mlperf.traces.replay.timing import Network, Timing, network
from mlperf.traces.replay.waits import Waits, waits_of

NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A run as replayed; times in nanoseconds from its start.

    Attributes
    ----------
    timing : Timing
        Preset, parameters, what was taken from the recording.
    network : Network
        The preset's costs of all messages.
    graph : RunGraph
        The graph, and the program it was made of (``graph.program``).
    times : Times
        Durations without waits.
    splits : Splits
        How the recorded durations were divided.
    weight_ns : array of int64, shape (n_edges,)
        Of the graph's edges, in its order.
    time_ns : array of int64, shape (n_nodes,)
        When each of the graph's nodes happens, in its order.
    fixed : array of int64, shape (n_fixed,)
        Nodes that happen when an edit says, whatever comes before; edges into them weigh `NEVER`.
    """

    timing: Timing
    network: Network
    graph: RunGraph
    times: Times
    splits: Splits
    weight_ns: IntArray
    time_ns: IntArray
    fixed: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def program(self) -> Program:
        """Calls, messages and collective operations."""
        return self.graph.program

    @property
    def total_ns(self) -> int:
        """T: the last end of all calls and ranks."""
        return int(self.time_ns.max(initial=0, where=self.graph.ends))

    @property
    def start_ns(self) -> IntArray:
        """Starts of all calls, shape (n_calls,)."""
        return self.time_ns[self.graph.start_node]

    @property
    def end_ns(self) -> IntArray:
        """Ends of all calls, shape (n_calls,)."""
        return self.time_ns[self.graph.end_node]

    @property
    def rank_end_ns(self) -> IntArray:
        """Ends of all ranks, shape (n_ranks,)."""
        return self.time_ns[self.graph.rank_node]

    @property
    def waits(self) -> Waits:
        """Waits of all events; computed anew at each use."""
        return waits_of(self.program, self.graph.eager, self.times, self.start_ns)

    def again(self, times: Times | None = None, fixed: tuple[ArrayLike, ArrayLike] | None = None) -> Replay:
        """The same graph with other durations.

        Parameters
        ----------
        times : Times, optional
            In place of this replay's.
        fixed : pair of arrays, optional
            Nodes of the graph's order (such as ``graph.start_node[call]``) and the times at which they happen regardless.
        """
        own = self.times if times is None else times
        weights = edge_weights(self.graph, own)
        if fixed is None:
            return Replay(self.timing, self.network, self.graph, own, self.splits, weights, forward(self.graph.dag, weights))
        nodes = np.asarray(fixed[0], dtype=np.int64)
        for node in nodes.tolist():
            weights[self.graph.dag.first[node] : self.graph.dag.first[node + 1]] = NEVER
        time = forward(self.graph.dag, weights, fixed)
        return Replay(self.timing, self.network, self.graph, own, self.splits, weights, time, nodes)


def replay(table: EventTable, timing: Timing) -> Replay:
    """Replay a table whose messages are matched; the unmodified trace comes out as recorded.

    Parameters
    ----------
    table : EventTable
        Events of all ranks on one clock.
    timing : Timing
        Preset, parameters, and what is taken from the recording.

    Raises
    ------
    DataError
        The table is no program (see :func:`~mlperf.traces.graph.program.program_of`), or calls wait for one another in a circle.
    """
    return replay_of(program_of(table), timing)


def replay_of(program: Program, timing: Timing) -> Replay:
    """As :func:`replay`, for a program read before."""
    costs = network(timing, program.messages.size_bytes)
    times, splits = split_times(program, costs, timing)
    return replay_times(program, timing, costs, times, splits)


def replay_times(
    program: Program, timing: Timing, costs: Network, times: Times, splits: Splits, graph: RunGraph | None = None
) -> Replay:
    """Replay given durations; the graph is built anew, for `Network.eager` as it is now.

    Parameters
    ----------
    graph : RunGraph, optional
        Of the same program and the same ``timing.gaps``: it serves where its messages are eager as they are now.
    """
    if graph is None or not np.array_equal(graph.eager, costs.eager):
        graph = lay_out(program, costs.eager, gaps=timing.gaps)
    weights = edge_weights(graph, times)
    return Replay(timing, costs, graph, times, splits, weights, forward(graph.dag, weights))


def time_s(make: Callable[[], Replay]) -> float:
    """T of the replay that is made, seconds; NaN where its calls would wait for one another in a circle, and never end."""
    try:
        return make().total_ns * NS
    except DataError as error:
        if not isinstance(error.__cause__, Cycle):
            raise
        return float("nan")
