"""Time that nested functions spend themselves."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.jit import jit
from mlperf.traces.events.table import EventTable


def own_time_ns(table: EventTable, rows: IntArray) -> IntArray:
    """Durations less what stands directly inside on the same thread, nanoseconds, shape (n_rows,).

    Times of a thread then add up to the time in which any of the rows was open: an outer function's duration holds those of all
    that it calls, and sums of durations would count them once for each level.

    Parameters
    ----------
    table : EventTable
    rows : array of int64
        Intervals, nested on each thread as calls are.
    """
    place = np.stack((table.rank[rows], table.pid[rows], table.tid[rows], table.device[rows], table.stream[rows]), axis=1)
    thread = np.unique(place, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    start, end = table.start_ns[rows].astype(np.int64), table.end_ns[rows].astype(np.int64)
    return _less_inner(np.lexsort((-end, start, thread)), thread, start, end)


@jit
def _less_inner(order: IntArray, thread: IntArray, start: IntArray, end: IntArray) -> IntArray:
    """One pass with a stack of what is open."""
    own = end - start
    stack = np.empty(len(order), dtype=np.int64)
    depth = 0
    for row in order:
        while depth > 0 and (thread[stack[depth - 1]] != thread[row] or end[stack[depth - 1]] <= start[row]):
            depth -= 1
        if depth > 0:
            # What clocks round may stand out of its caller a little.
            own[stack[depth - 1]] -= min(end[row], end[stack[depth - 1]]) - start[row]
        stack[depth] = row
        depth += 1
    return own
