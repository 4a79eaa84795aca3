"""In which phase of a step each event of a recorded run began."""

from __future__ import annotations

import numpy as np

from mlperf.traces.events.kinds import UNSET
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.flames import Groups
from mlperf.traces.timeline.intervals import Intervals
from mlperf.traces.whole_run.steps import OWN_MARKS, RunSteps, child_marks, step_thread, with_ranks

OTHER = "other"
OUTSIDE = "outside of steps"


def event_phases(events: EventTable, steps: RunSteps, marker: str | None = None) -> Groups:
    """The mark of the step's thread that was open when an event began; ``other`` between marks, ``outside of steps`` elsewhere.

    Parameters
    ----------
    events : EventTable
        Of the recording that the steps were found in. Events of a process whose rank is not known, and of devices, take the time of
        the lowest rank.
    steps : RunSteps
    marker : str, optional
        What the steps were found by.
    """
    names = (*steps.phases, OTHER, OUTSIDE)
    found = np.full(len(events), len(names) - 1, dtype=np.int64)
    ranked = with_ranks(events)
    for windows in reversed(steps.windows):
        own = (ranked.rank == windows.rank) | (ranked.rank == UNSET)
        rows = np.flatnonzero(own)
        # A sample stands for the time before it.
        time = ranked.start_ns[rows] - ranked.weight_ns[rows] // 2
        found[rows] = len(names) - 1
        found[rows[Intervals(windows.start_ns, windows.end_ns).hold(time)]] = len(names) - 2
        marks = child_marks(ranked, windows, step_thread(ranked, windows), marker or OWN_MARKS)
        for name, marked in marks.items():
            inside = marked.hold(time) & (found[rows] == len(names) - 2)
            found[rows[inside]] = names.index(name)
    return Groups(names, found)
