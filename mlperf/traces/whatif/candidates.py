"""What the domino search looks up: per rank, the events up to any point whose removal of waiting brings most."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.graph.dag import NEVER, Numbers, number_type
from mlperf.traces.whatif.sweep import Sweep


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Events whose waits could go, with T' of each.

    Attributes
    ----------
    total_ns : int
        T0.
    moved_ns : array of int64, shape (n_events,)
        T' without the event's wait; of no candidate a number above all times.
    least_ns : array of int64, shape (n_events,)
        The smallest of `moved_ns` on the event's rank up to the event's call, that included.
    upto : array of int32 or int64, shape (n_events,)
        The last event of the event's call.
    partner : array of int32 or int64, shape (n_events,)
        Event that each waits for.
    rank : array of int32, shape (n_events,)
    last : array of int64, shape (n_ranks,)
        Last event of every rank, -1 of one without any.
    equal : mapping
        (rank, T') to its events in order.
    """

    total_ns: int
    moved_ns: IntArray
    least_ns: IntArray
    upto: Numbers
    partner: Numbers
    rank: Numbers
    last: IntArray
    equal: dict[tuple[int, int], list[int]]

    def total(self, event: int) -> int:
        """T' without one event's wait."""
        return int(self.moved_ns[event])

    def first(self, rank: int) -> list[int]:
        """The best events of a rank, latest first; none where none shortens the run."""
        return self._best(int(self.last[rank]), self.total_ns)

    def following(self, event: int) -> list[int]:
        """The best events up to an event's partner, latest first; none where T' would grow."""
        return self._best(int(self.partner[event]), self.total(event))

    def _best(self, event: int, most_ns: int) -> list[int]:
        if event < 0 or self.least_ns[event] >= self.total_ns or self.least_ns[event] > most_ns:
            return []
        same = self.equal[int(self.rank[event]), int(self.least_ns[event])]
        return same[: bisect_right(same, int(self.upto[event]))][::-1]


def candidates_of(swept: Sweep, allowed: BoolArray) -> Candidates:
    """Waiting events that are allowed to lead a domino path."""
    calls, waits = swept.run.program.calls, swept.waits
    moved = np.where(allowed & (waits.zero_call >= 0), swept.wait_zero_ns, -NEVER)
    rank = calls.event_rank
    first = np.searchsorted(rank, np.arange(swept.run.program.n_ranks + 1))
    upto = (
        np.searchsorted(calls.call, calls.call, side="right") - 1 if np.all(np.diff(calls.call) >= 0) else _last_of_call(calls.call)
    )
    least = np.empty_like(moved)
    for start, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        np.minimum.accumulate(moved[start:end], out=least[start:end])
    last = np.where(np.diff(first) > 0, first[1:] - 1, -1)
    return Candidates(swept.total_ns, moved, least[upto], upto, waits.partner, rank, last, _equal(moved, rank, swept.total_ns))


def _last_of_call(call: IntArray) -> IntArray:
    """The last event of each event's call."""
    last = np.zeros(int(call.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(last, call, np.arange(len(call)))
    return last[call]


def _equal(moved: IntArray, rank: IntArray, total_ns: int) -> dict[tuple[int, int], list[int]]:
    """Events that shorten the run, by rank and T'."""
    some = np.flatnonzero(moved < total_ns)
    order = some[np.lexsort((some, moved[some], rank[some]))]
    changes = np.flatnonzero((np.diff(rank[order]) != 0) | (np.diff(moved[order]) != 0)) + 1
    groups = np.split(order, changes) if len(order) else []
    return {(int(rank[group[0]]), int(moved[group[0]])): group.tolist() for group in groups}
