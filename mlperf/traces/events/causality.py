"""Receives that end before their message can have come: the sign of clocks that disagree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable

WORST = 10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Violations(Shown):
    """Messages that are received before they are sent.

    Attributes
    ----------
    n_messages, n_violations : int
        Matched messages, and those among them whose receive ends too early.
    row : array of int64, shape (at most 10,)
        Rows of the worst receives.
    early_ns : array of int64
        By how much each ends too early, nanoseconds.
    """

    n_messages: int
    n_violations: int
    row: IntArray
    early_ns: IntArray


def causality_violations(table: EventTable, least_ns: int = 0) -> Violations:
    """Compare every receive's end with its send's start.

    A non-blocking receive ends where its WAIT does; one that nothing waits for says nothing.

    Parameters
    ----------
    table : EventTable
        With `match`.
    least_ns : int
        Least time of a message, nanoseconds, 0 or more.
    """
    rows = np.flatnonzero((table.match >= 0) & np.isin(table.kind, (int(Kind.RECV), int(Kind.IRECV))))
    done, known = completed_ns(table, rows)
    rows, done = rows[known], done[known]
    early = table.start_ns[table.match[rows]] + least_ns - done
    worst = np.argsort(-early, kind="stable")[:WORST]
    worst = worst[early[worst] > 0]
    return Violations(len(rows), int(np.count_nonzero(early > 0)), rows[worst], early[worst])


def completed_ns(table: EventTable, rows: IntArray) -> tuple[IntArray, np.ndarray]:
    """When the calls of these rows are complete, nanoseconds, and whether that is known."""
    done = table.end_ns[rows]
    known = np.ones(len(rows), dtype=bool)
    posted = np.isin(table.kind[rows], (int(Kind.ISEND), int(Kind.IRECV)))
    if not np.any(posted):
        return done, known
    waits = np.flatnonzero((table.kind == Kind.WAIT) & (table.corr >= 0))
    span = int(table.corr.max(initial=0)) + 1
    key = table.rank[waits].astype(np.int64) * span + table.corr[waits]
    order = np.argsort(key, kind="stable")
    wanted = table.rank[rows].astype(np.int64) * span + table.corr[rows]
    place = np.minimum(np.searchsorted(key[order], wanted), max(len(waits) - 1, 0))
    found = (key[order][place] == wanted) & (table.corr[rows] >= 0) if len(waits) else np.zeros(len(rows), dtype=bool)
    done = np.where(posted & found, table.end_ns[waits[order][place]] if len(waits) else 0, done)
    return done, ~posted | found
