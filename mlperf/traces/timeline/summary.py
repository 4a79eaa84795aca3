"""A timeline in numbers: how each thread spent its time."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.systems.sprint.components import LOCK_WAITS
from mlperf.traces.timeline.lanes import ThreadTimeline, thread_name

KINDS = ("work_s", "lock_wait_s", "barrier_s")


@dataclass(frozen=True, slots=True, eq=False)
class TimelineSummary(Shown):
    """What a timeline that was written shows.

    Attributes
    ----------
    origin : str
        ``simulated`` or ``recorded``.
    mode : str
        What was real and what was emulated.
    file : str
        What was written.
    n_intervals : int
        Intervals of all threads over the whole run.
    threads : DataFrame
        One row a thread: ``node, thread, n_intervals, span_s``, and of it ``work_s, lock_wait_s, barrier_s``, seconds, and
        ``lock_wait_share``.
    """

    origin: str
    mode: str
    file: str
    n_intervals: int
    threads: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """One row a thread."""
        return self.threads


def summarise(timeline: ThreadTimeline, file: str) -> TimelineSummary:
    """Add up the intervals of every thread."""
    table = timeline.intervals
    rows = []
    for node, thread in timeline.lanes:
        own = table[(table["node"] == node) & (table["thread"] == thread)]
        spent = (own["end_s"] - own["begin_s"]).groupby(own["activity"].map(kind)).sum()
        span_s = float(own["end_s"].max() - own["begin_s"].min())
        seconds = {name: float(spent.get(name, 0.0)) for name in KINDS}
        named = {"node": node, "thread": thread_name(thread), "n_intervals": len(own), "span_s": span_s}
        rows.append({**named, **seconds, "lock_wait_share": seconds["lock_wait_s"] / span_s})
    return TimelineSummary(timeline.origin, timeline.mode, file, len(table), pd.DataFrame(rows))


def kind(activity: str) -> str:
    """The column that an activity counts in."""
    if activity in LOCK_WAITS:
        return "lock_wait_s"
    return "barrier_s" if activity == "barrier" else "work_s"
