"""Bytes that marks carry, over their time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_recordings import MS, Made

from mlperf.planning.advice.facts.memory import memory_facts
from mlperf.traces.whole_run.steps import find_steps


def test_bytes_a_second(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(6):
        at = maker.marks(at, {"allreduce": 10 * MS, "update": 20 * MS}, sizes={"update": 10**8, "allreduce": 10**9})
    recording = maker.recording(memory_bytes_per_s=2e10, memory_one_core_bytes_per_s=1e10)
    (found,) = memory_facts(recording, find_steps(recording))
    # What goes over a network is no matter of memory.
    assert found.phase == "update"
    assert found.bytes_per_step == 10**8
    assert found.bytes_per_s == pytest.approx(5e9)
    assert (found.peak_bytes_per_s, found.peak_one_core_bytes_per_s) == (2e10, 1e10)


def test_marks_without_bytes_tell_nothing(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(3):
        at = maker.marks(at, {"update": 20 * MS})
    assert memory_facts(maker.recording(), find_steps(maker.recording())) == ()
