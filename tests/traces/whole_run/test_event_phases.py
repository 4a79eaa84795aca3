"""Phases of events of a made run, whose samples lie in phases that the maker knows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from made_recordings import MS, Made
from page_recordings import N_STEPS, STEP, everything

from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.event_phases import event_phases
from mlperf.traces.whole_run.steps import find_steps


@pytest.mark.parametrize("rank", [0, 1])
def test_samples_fall_into_the_phase_that_they_were_made_in(rank: int) -> None:
    recording = everything()
    found = event_phases(recording.events, find_steps(recording))
    assert found.names == ("load", "forward", "backward", "other", "outside of steps")
    rows = np.flatnonzero((recording.events.kind == Kind.SAMPLE) & (recording.events.rank == rank))
    counts = Counter(found.name_of(number) for number in found.of_event[rows].tolist())
    assert counts == {name: N_STEPS * length // MS for name, length in STEP.items()}


def test_time_between_marks_and_between_steps() -> None:
    maker = Made()
    for number in range(5):
        at = number * 100 * MS
        maker.add(Kind.REGION, at, 60 * MS, "step", rank=0, pid=10, tid=1)
        maker.add(Kind.REGION, at, 20 * MS, "load", rank=0, pid=10, tid=1)
        for moment in (10, 40, 80):
            maker.add(Kind.SYSCALL, at + moment * MS, 1, f"call {moment}", rank=0, pid=10, tid=2)
    recording = maker.recording()
    found = event_phases(recording.events, find_steps(recording))
    told = {
        name: found.name_of(number)
        for name, number in zip(recording.events.text(recording.events.name), found.of_event.tolist(), strict=True)
    }
    assert {name: told[f"call {name}"] for name in (10, 40, 80)} == {10: "load", 40: "other", 80: "outside of steps"}


def test_events_of_no_rank_take_the_time_of_the_lowest() -> None:
    recording = everything(4)
    events = recording.events
    rank = np.where(events.kind == Kind.PACKET, -1, events.rank).astype(np.int32)
    found = event_phases(events.replace(rank=rank), find_steps(recording))
    # Packets go 41 ms after a step began: backward lasts from 30 to 60.
    assert {found.name_of(number) for number in found.of_event[events.kind == Kind.PACKET].tolist()} == {"backward"}
