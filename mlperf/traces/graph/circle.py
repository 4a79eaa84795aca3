"""A circle of calls that wait for one another, told rank by rank."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.graph.program import Program

SHOWN = 8
"""Calls of a circle that are told."""
HINT = "The trace is inconsistent (clocks, order or matching of messages), or more messages are synchronous here than when it ran."

THREADS = "calls start before the one before on their rank has ended: several threads that communicate at once have no one order."


def deadlock(program: Program, nodes: IntArray) -> DataError:
    """The error for a circle among a graph's nodes."""
    calls = program.calls
    inside = nodes[(nodes >= 1) & (nodes <= 2 * len(calls))]
    call = (inside - 1) // 2
    kept = call[np.flatnonzero(np.diff(call, prepend=-1) != 0)].tolist()
    if len(kept) > 1 and kept[0] == kept[-1]:
        kept.pop()
    said = [describe_call(program, each) for each in kept[:SHOWN]]
    more = f" and {len(kept) - SHOWN} more" if len(kept) > SHOWN else ""
    ranks = " -> ".join(str(calls.rank[each]) for each in [*kept[:SHOWN], kept[0]])
    n_early = int(np.count_nonzero(program.compute_ns[: len(calls)] < 0))
    hint = f"{n_early} {THREADS}" if n_early else HINT
    told = f"calls wait for one another in a circle, rank {ranks}: {'; '.join(said)}{more}"
    return DataError(told, place=program.table.place, hint=hint)


def describe_call(program: Program, call: int) -> str:
    """One call in words: rank, kind, partner, bytes, place in the program and row of the table."""
    table, calls = program.table, program.calls
    row = int(calls.rows[calls.event[call]])
    words = [f"rank {calls.rank[call]}", Kind(int(table.kind[row])).name.lower()]
    if table.peer[row] >= 0:
        words.append(f"with {table.peer[row]}")
    if table.size_bytes[row]:
        words.append(f"of {table.size_bytes[row]} bytes")
    site = int(table.site[row]) if table.site[row] >= 0 else int(table.name[row])
    if site >= 0:
        words.append(f"at {table.strings[site]}")
    return f"{' '.join(words)} (row {row})"
