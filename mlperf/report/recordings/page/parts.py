"""What the page of a recorded run is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from mlperf.planning.advice.advise import Advice
from mlperf.traces.timeline.flames import Groups
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps


@dataclass(frozen=True, slots=True, eq=False)
class PageParts:
    """A recording with what was found in it; what is None is left out of the page, which says why.

    Attributes
    ----------
    recording : Recording
    steps : RunSteps or None
    phases : Groups or None
        Phase of a step in which each event began.
    swarms : Groups or None
        Swarm of each event.
    swarm_table : DataFrame or None
        One row a swarm; shown as it is.
    swarm_pairs : DataFrame or None
        Which swarm follows which; shown as it is.
    matrix : DataFrame or None
        One row a pair that communicates: ``sender, receiver, size_bytes, time_s, messages, bytes_per_s``.
    rings : DataFrame or None
        The ring in use and the best one; shown as it is.
    advice : Advice or None
    missing : mapping
        Name of a part that is None to the reason.
    """

    recording: Recording
    steps: RunSteps | None = None
    phases: Groups | None = None
    swarms: Groups | None = None
    swarm_table: pd.DataFrame | None = None
    swarm_pairs: pd.DataFrame | None = None
    matrix: pd.DataFrame | None = None
    rings: pd.DataFrame | None = None
    advice: Advice | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def span_ns(self) -> tuple[int, int]:
        """From the first to the last moment that the page shows: the command's run, and what was recorded before or after it."""
        events, counters = self.recording.events, self.recording.counters
        begins, ends = [self.recording.start_ns], [self.recording.end_ns]
        if len(events):
            begins.append(int((events.start_ns - events.weight_ns).min()))
            ends.append(int(events.end_ns.max()))
        if len(counters):
            begins.append(int(counters.time_ns.min()))
            ends.append(int(counters.time_ns.max()))
        return min(begins), max(*ends, min(begins) + 1)
