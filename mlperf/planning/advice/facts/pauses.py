"""Pauses: garbage collections, and steps that are long every so often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.planning.advice.facts.phases import phases_by_role, time_in
from mlperf.traces.events.kinds import Kind
from mlperf.traces.timeline.intervals import clipped, union
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, with_ranks

COLLECTION = "gc"
NS = 1e-9
LONG = 0.1
"""Share of a step that a long one is longer."""
MOST_OFF = 1 / 3
"""Share of the distances of long steps that may be off where they are said to come every so often: one more or less among them."""


@dataclass(frozen=True, slots=True, eq=False)
class PauseFacts:
    """What interrupts steps.

    Attributes
    ----------
    step_s : array, shape (n_steps,)
    collected_s : array, shape (n_steps,)
        Of each step, time in garbage collections on any thread of a rank (they hold the interpreter's lock), mean over ranks.
    long_steps : int
        Steps whose time beside input phases is beyond its median by five median deviations and by a tenth of a step: batches that
        several workers make come in bunches, and waiting for them is no pause.
    excess_s : array, shape (n_steps,)
        By how much that time is longer than its median in each long step; 0 for others.
    period_steps : float
        Median distance of long steps, NaN where there are fewer than three, most follow one another (a slow stretch of the run, and
        no pause), or more than a third of the distances are off by more than a quarter of it.
    """

    step_s: FloatArray
    collected_s: FloatArray
    long_steps: int
    excess_s: FloatArray
    period_steps: float


def pause_facts(recording: Recording, steps: RunSteps) -> PauseFacts:
    """Look at collections and long steps."""
    table = steps.settled
    loaded = time_in(table, phases_by_role(steps.phases).get("load", []))
    table = table.assign(collected_s=_collected(recording, steps), beside_s=table["step_s"] - loaded)
    # Ranks that exchange are held up together: their steps are one observation.
    means = table.groupby("step", sort=True)[["step_s", "collected_s", "beside_s"]].mean()
    step, beside = means["step_s"].to_numpy(float), means["beside_s"].to_numpy(float)
    middle = float(np.median(beside))
    spread = float(np.median(np.abs(beside - middle)))
    least = max(5 * spread, LONG * float(np.median(step)))
    excess = np.where(beside > middle + least, beside - middle, 0.0)
    at = np.flatnonzero(excess)
    gaps = np.diff(at)
    period = float(np.median(gaps)) if len(at) >= 3 else float("nan")
    if len(at) >= 3 and (period < 2 or np.mean(np.abs(gaps - period) > period / 4) > MOST_OFF):
        period = float("nan")
    return PauseFacts(step, means["collected_s"].to_numpy(float), len(at), excess, period)


def _collected(recording: Recording, steps: RunSteps) -> FloatArray:
    """Time of each settled step in collections."""
    events = with_ranks(recording.events)
    named = [number for number, text in enumerate(events.strings) if text == COLLECTION]
    table = steps.settled
    found = np.zeros(len(table))
    for windows in steps.windows:
        rows = (events.kind == Kind.REGION) & np.isin(events.name, named) & (events.rank == windows.rank)
        if not rows.any():
            continue
        when = union(events.start_ns[rows], events.end_ns[rows])
        spent = {
            int(number): clipped(when, int(start), int(end)).total_ns * NS
            for number, start, end in zip(windows.number, windows.start_ns, windows.end_ns, strict=True)
        }
        own = (table["rank"] == windows.rank).to_numpy()
        found[own] = [spent[int(number)] for number in table["step"].to_numpy()[own]]
    return found
