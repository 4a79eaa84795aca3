"""What if calls came in another order: blocks of them, such as iterations of a loop, are moved on all ranks together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import UsageError
from mlperf.traces.graph.program import program_of
from mlperf.traces.replay.run import Replay, replay_times
from mlperf.traces.replay.timing import network


def reordered(run: Replay, block: IntArray, order: Sequence[int]) -> Replay:
    """Replay a run whose blocks of calls come in another order.

    Every call takes with it what is computed before it; waits follow from the new order. Times without waits are the run's own.

    Parameters
    ----------
    run : Replay
        The run as recorded.
    block : array of int64, shape (n_calls,)
        Block of each call, such as the iteration that it belongs to.
    order : sequence of int
        All blocks, each once, as they are to come on every rank that takes part in them.

    Raises
    ------
    UsageError
        ``order`` does not name every block once.
    DataError
        In that order the calls wait for one another in a circle.

    References
    ----------
    PerWiz (Ino et al.), section 5.1: waits are shortened by exchanging the order in which control points are processed.
    """
    blocks = np.unique(block)
    if sorted(order) != blocks.tolist():
        raise UsageError(f"got an order of {len(order)} blocks, expected each of the {len(blocks)} blocks once")
    program = run.program
    calls, table = program.calls, program.table
    place = np.empty(len(order), dtype=np.int64)
    place[np.searchsorted(blocks, np.asarray(order))] = np.arange(len(order))
    by_rank = np.lexsort((np.arange(len(calls)), place[np.searchsorted(blocks, block)], calls.rank))
    # Times that say nothing but the order; what is replayed are the durations below.
    turn = np.empty(len(calls), dtype=np.int64)
    turn[by_rank] = np.arange(len(calls))
    start, duration = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=np.int64)
    start[calls.rows], duration[calls.rows] = 2 * turn[calls.call], 1
    moved = program_of(table.replace(start_ns=start, duration_ns=duration))
    call = calls.call[calls.number[moved.calls.rows[moved.calls.event]]]
    messages = np.argsort(calls.rows[program.messages.send])
    old_rows = calls.rows[program.messages.send][messages]
    message = messages[np.searchsorted(old_rows, moved.calls.rows[moved.messages.send])]
    times, n_calls = run.times, len(calls)
    permuted = times.replace(
        compute_ns=np.concatenate((times.compute_ns[:n_calls][call], times.compute_ns[n_calls:])),
        own_ns=times.own_ns[call],
        **{name: getattr(times, name)[message] for name in ("send_ns", "recv_ns", "off_ns", "gap_ns")},
    )
    return replay_times(moved, run.timing, network(run.timing, moved.messages.size_bytes), permuted, run.splits)
