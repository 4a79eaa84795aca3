"""What the domino search looks up: per rank, the events up to any point whose removal of waiting brings most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.graph.calls import Calls
from mlperf.traces.graph.dag import NEVER, Numbers, number_type
from mlperf.traces.whatif.sweep import Sweep


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Events whose waits could go, with T' of each.

    Only events that bring at least as much as every one before them on their rank can ever be the best up to some point: these are
    the records.

    Attributes
    ----------
    total_ns : int
        T0.
    moved_ns : array of int64, shape (n_events,)
        T' without the event's wait; of no candidate a number above all times.
    partner : array of int, shape (n_events,)
        Event that each waits for.
    last : array of int64, shape (n_ranks,)
        Last event of every rank, -1 of one without any.
    record : array of int32 or int64, shape (n_events,)
        The last record of the event's rank up to the event's call, that included: a number into `records`, -1 where there is none.
    records : array of int64, shape (n_records,)
        Events that shorten the run, and no less than every event before them on their rank.
    since : array of int64, shape (n_records,)
        The first record that is as good as each, of those without a worse one between them.
    """

    total_ns: int
    moved_ns: IntArray
    partner: Numbers
    last: IntArray
    record: Numbers
    records: IntArray
    since: IntArray

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
        record = int(self.record[event]) if event >= 0 else -1
        if record < 0 or self.moved_ns[self.records[record]] > most_ns:
            return []
        found: list[int] = self.records[int(self.since[record]) : record + 1][::-1].tolist()
        return found


def candidates_of(swept: Sweep, allowed: BoolArray) -> Candidates:
    """Waiting events that are allowed to lead a domino path."""
    calls, waits = swept.run.program.calls, swept.waits
    moved = np.where(allowed & (waits.zero_call >= 0), swept.wait_zero_ns, -NEVER)
    first = np.searchsorted(calls.event_rank, np.arange(swept.run.program.n_ranks + 1))
    return ranked(swept.total_ns, moved, waits.partner, first, _last_of_call(calls))


def _last_of_call(calls: Calls) -> Numbers | None:
    """The last event of each event's call; None where every call is one event."""
    if len(calls) == len(calls.call):
        return None
    last = np.zeros(len(calls), dtype=number_type(len(calls.call)))
    np.maximum.at(last, calls.call, np.arange(len(calls.call), dtype=last.dtype))
    return last[calls.call]


def ranked(total_ns: int, moved_ns: IntArray, partner: Numbers, first: IntArray, upto: Numbers | None = None) -> Candidates:
    """Candidates in the order of ranks and, within a rank, of time.

    Parameters
    ----------
    total_ns : int
        T0.
    moved_ns : array of int64, shape (n_events,)
        T' without each event's wait; a number above all times where that is no candidate.
    partner : array of int, shape (n_events,)
        Event that each waits for.
    first : array of int64, shape (n_ranks + 1,)
        Events of rank p are ``first[p]`` to ``first[p + 1]``.
    upto : array of int, shape (n_events,), optional
        The last event of the same call, by default the event itself.
    """
    is_record = moved_ns < total_ns
    for start, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        is_record[start:end] &= moved_ns[start:end] == np.minimum.accumulate(moved_ns[start:end])
    records = np.flatnonzero(is_record)
    record = np.cumsum(is_record, dtype=number_type(len(moved_ns)))
    record -= 1
    begins = np.searchsorted(records, first)
    for start, end, begin in zip(first[:-1].tolist(), first[1:].tolist(), begins.tolist(), strict=False):
        record[start:end][record[start:end] < begin] = -1
    best = moved_ns[records]
    new = np.append(True, best[1:] != best[:-1])[: len(records)]
    new[begins[begins < len(records)]] = True
    since = np.maximum.accumulate(np.where(new, np.arange(len(records)), 0))
    last = np.where(np.diff(first) > 0, first[1:] - 1, -1)
    return Candidates(total_ns, moved_ns, partner, last, record if upto is None else record[upto], records, since)
