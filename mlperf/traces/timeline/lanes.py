"""The threads of one run as lanes of intervals on one time axis, and their sums."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.sprint.components import LOCK_WAITS

UPDATE = -1
"""Number of a node's update thread; GPU threads count from 0."""

WAITS = (*LOCK_WAITS, "barrier")
COLUMNS = ("node", "thread", "activity", "begin_s", "end_s", "iteration", "version", "update")
GRADIENTS = ("gpu_work", "compute_gradient")
N_UPDATES_SHOWN = 6
N_ITERATIONS_SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class ThreadTimeline(Shown, frame="intervals"):
    """What every thread of a run did when.

    Attributes
    ----------
    origin : str
        ``simulated`` or ``recorded``.
    mode : str
        What was real and what was emulated; ``simulated`` for a simulation.
    intervals : DataFrame
        One row an interval, by node, thread and begin: ``node`` and ``thread`` (numbers from 0; thread -1 is the node's update
        thread), ``activity`` (a component's name, or what several make up), ``begin_s``, ``end_s`` (seconds since the first
        begin), ``iteration`` (of that thread), ``version`` (of the weights that a gradient was computed from) and ``update``
        (that used it, or that the update thread makes); -1 where that is unknown. Intervals of a thread do not overlap.
    """

    origin: str
    mode: str
    intervals: pd.DataFrame

    @property
    def span_s(self) -> tuple[float, float]:
        """First begin and last end, seconds; zeros where nothing was recorded."""
        if self.intervals.empty:
            return 0.0, 0.0
        return float(self.intervals["begin_s"].min()), float(self.intervals["end_s"].max())

    @property
    def lanes(self) -> list[tuple[int, int]]:
        """(node, thread) from top to bottom: a node's GPU threads, then its update thread."""
        pairs = self.intervals[["node", "thread"]].drop_duplicates().itertuples(index=False, name=None)
        return sorted(((int(node), int(thread)) for node, thread in pairs), key=lambda lane: (lane[0], lane[1] == UPDATE, lane[1]))

    def within(self, begin_s: float, end_s: float) -> ThreadTimeline:
        """The intervals that touch a stretch of time, whole.

        Raises
        ------
        UsageError
            The stretch is empty, or holds no interval.
        """
        if not begin_s < end_s:
            raise UsageError(f"got a window from {begin_s} to {end_s} s, expected one that begins before it ends")
        touching = (self.intervals["end_s"] > begin_s) & (self.intervals["begin_s"] < end_s)
        if not touching.any():
            first, last = self.span_s
            raise UsageError(f"got a window from {begin_s} to {end_s} s, expected one inside {first:.4g} to {last:.4g} s")
        return replace(self, intervals=self.intervals[touching].reset_index(drop=True))

    def middle(self, n_updates: int = N_UPDATES_SHOWN) -> tuple[float, float]:
        """A stretch in the middle of the run, seconds: so many updates of the first node and three GPU iterations, or all of it."""
        published = self.intervals[(self.intervals["thread"] == UPDATE) & (self.intervals["activity"] == "update_weights")]
        ends = published.loc[published["node"] == published["node"].min(), "end_s"].to_numpy(float)
        shown = max(n_updates, int(np.ceil(N_ITERATIONS_SHOWN * self._updates_an_iteration(len(ends)))))
        if len(ends) <= shown:
            return self.span_s
        first = (len(ends) - 1 - shown) // 2
        return float(ends[first]), float(ends[first + shown])

    def _updates_an_iteration(self, n_updates: int) -> float:
        """Updates during one iteration of the slowest GPU thread; 0 where no thread has two gradients."""
        gradients = self.intervals[(self.intervals["thread"] != UPDATE) & self.intervals["activity"].isin(GRADIENTS)]
        counts = gradients.groupby(["node", "thread"]).size()
        return n_updates / float(counts.min()) if len(counts) and counts.min() > 1 else 0.0


def thread_name(thread: int) -> str:
    """``"GPU 3"``, or ``"update"``."""
    return "update" if thread == UPDATE else f"GPU {thread}"


KINDS = ("work_s", "lock_wait_s", "barrier_s")


@dataclass(frozen=True, slots=True, eq=False)
class TimelineSummary(Shown, frame="threads"):
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
