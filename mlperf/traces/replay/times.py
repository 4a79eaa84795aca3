"""Durations of everything in a program, waits apart, and the weights that they give the edges of its graph."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.graph.layout import RunGraph
from mlperf.traces.graph.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """What lasts how long, nanoseconds; edits change these and replay.

    Attributes
    ----------
    compute_ns : array of int64, shape (n_calls + n_ranks,)
        As `Program.compute_ns`.
    own_ns : array of int64, shape (n_calls,)
        Each call without its wait; of a WAIT what comes after the last of what it completes.
    send_ns, recv_ns : array of int64, shape (n_messages,)
        Each end of a message without its wait. Of a posted end, from when both ends are ready until it is complete.
    off_ns : array of int64, shape (n_messages,)
        From the send's call until the receiver can see the message.
    gap_ns : array of int64, shape (n_messages,)
        Least time until the rank's next send, or receive.
    """

    compute_ns: IntArray
    own_ns: IntArray
    send_ns: IntArray
    recv_ns: IntArray
    off_ns: IntArray
    gap_ns: IntArray

    def replace(self, **changes: IntArray) -> Times:
        """A copy with some durations changed."""
        return dataclasses.replace(self, **changes)


def edge_weights(graph: RunGraph, times: Times) -> IntArray:
    """Least time along each edge of a program's graph, in the graph's order, nanoseconds, shape (n_edges,)."""
    return graph.in_order(_weights_by_part(graph, times))


def _weights_by_part(graph: RunGraph, times: Times) -> dict[str, IntArray]:
    """Weights of the builder's edges."""
    after_send, after_recv = after_ends(graph.program, times)
    members = graph.program.groups.call
    return {
        "compute": times.compute_ns,
        "own": times.own_ns,
        "arrive": (times.off_ns + times.recv_ns + after_recv)[graph.part("arrive")],
        "release": (times.send_ns - times.off_ns + after_send)[graph.part("release")],
        "send_wait": (times.send_ns + after_send)[graph.part("send_wait")],
        "recv_wait": (times.recv_ns + after_recv)[graph.part("recv_wait")],
        "gather": np.zeros(len(graph.part("gather")), dtype=np.int64),
        "spread": times.own_ns[members[graph.part("spread")]],
        "gap": times.gap_ns[graph.part("gap")],
    }


def after_ends(program: Program, times: Times) -> tuple[IntArray, IntArray]:
    """What a WAIT adds after each end that it completes, sends and receives, shape (n_messages,) each; 0 for blocking calls."""
    messages = program.messages
    return (
        np.where(messages.send_done != messages.send_call, times.own_ns[messages.send_done], 0),
        np.where(messages.recv_done != messages.recv_call, times.own_ns[messages.recv_done], 0),
    )


def processing(graph: RunGraph, times: Times) -> IntArray:
    """The part of each edge's weight that the call at its head spends itself, in the graph's order, shape (n_edges,)."""
    program, messages = graph.program, graph.program.messages
    after_send, after_recv = after_ends(program, times)
    send = np.where(messages.send_done != messages.send_call, after_send, times.send_ns)
    recv = np.where(messages.recv_done != messages.recv_call, after_recv, times.recv_ns)
    own = {
        "own": times.own_ns,
        "arrive": recv[graph.part("arrive")],
        "release": send[graph.part("release")],
        "send_wait": after_send[graph.part("send_wait")],
        "recv_wait": after_recv[graph.part("recv_wait")],
        "spread": times.own_ns[program.groups.call[graph.part("spread")]],
    }
    # Zeros that take no memory for the parts that lead to no end.
    none = {part.name: np.broadcast_to(np.int64(0), len(part.of)) for part in graph.parts}
    return graph.in_order({**none, **own})
