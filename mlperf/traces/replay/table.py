"""A replayed run as events again: what was recorded, at its new times."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import Flag
from mlperf.traces.events.table import EventTable
from mlperf.traces.replay.run import Replay


def as_table(run: Replay) -> EventTable:
    """The modified trace (the paper's L'): rows, matches, strings and order as recorded, starts and durations as replayed.

    Communication events have their replayed times. What lies between two calls moves with the gap it lies in, stretched where the
    gap is; what a call holds, a region's begin or a mark, moves with the call. Events of no rank stay where they are. What an
    edit makes a rank compute after its last call shows only if something was recorded there.
    """
    program, table = run.program, run.program.table
    start, end = table.start_ns.copy(), table.end_ns.copy()
    for rank in range(program.n_ranks):
        own = np.flatnonzero(table.rank == rank)
        old, new = _corners(run, rank)
        start[own], end[own] = _moved(start[own], old, new), _moved(end[own], old, new)
    calls = program.calls
    start[calls.rows], end[calls.rows] = run.start_ns[calls.call], run.end_ns[calls.call]
    flags = table.flags.copy()
    flags[calls.rows[run.splits.negative[calls.call]]] |= np.uint16(Flag.NEGATIVE_SPLIT)
    note = f"replayed: T = {run.total_ns} ns, recorded {program.measured_ns} ns"
    return table.replace(start_ns=start, duration_ns=end - start, flags=flags, notes=(*table.notes, note))


def _corners(run: Replay, rank: int) -> tuple[IntArray, IntArray]:
    """Recorded and replayed times of the start of the run, of every start and end of a rank's calls, and of the rank's end."""
    calls = run.program.calls
    mine = slice(int(calls.first[rank]), int(calls.first[rank + 1]))
    old = np.stack((calls.start_ns[mine], calls.end_ns[mine]), axis=1).ravel()
    new = np.stack((run.start_ns[mine], run.end_ns[mine]), axis=1).ravel()
    last_old, last_new = int(run.program.rank_end_ns[rank]), int(run.rank_end_ns[rank])
    return np.maximum.accumulate(np.r_[0, old, last_old]), np.maximum.accumulate(np.r_[min(0, new.min(initial=0)), new, last_new])


def _moved(time_ns: IntArray, old: IntArray, new: IntArray) -> IntArray:
    """Times between the corners, moved with them; whole lengths that stay are moved without rounding."""
    piece = np.clip(np.searchsorted(old, time_ns, side="right") - 1, 0, len(old) - 2)
    length, longer = old[piece + 1] - old[piece], new[piece + 1] - new[piece]
    since = time_ns - old[piece]
    stretched = np.rint(since * (longer / np.maximum(length, 1))).astype(np.int64)
    return new[piece] + np.where((length == longer) | (length == 0), since, stretched)
