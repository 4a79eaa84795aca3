"""The input of made steps: who waits, who makes it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from made_recordings import CORES, MS, Made

from mlperf.planning.advice.facts.input_pipeline import input_facts, inside
from mlperf.traces.timeline.intervals import union
from mlperf.traces.whole_run.steps import find_steps


def test_waiting_and_making(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(10):
        begun, at = at, maker.marks(at, {"load": 40 * MS, "forward": 60 * MS})
        maker.samples(begun + 40 * MS, at, "gemm")
        maker.samples(begun, begun + 10 * MS, "pop")
        maker.samples(begun, at, "decode", tid=2)
        maker.samples(begun, begun + 50 * MS, "decode", tid=3)
    recording = maker.recording()
    found = input_facts(recording, find_steps(recording))
    assert found is not None
    assert found.phases == ("load",)
    np.testing.assert_allclose(found.load_s, 0.04)
    assert found.busy_share == pytest.approx(0.25)
    assert found.n_makers == 2
    assert found.makers_cores == pytest.approx(1.5)
    assert found.n_cores == CORES
    assert np.isnan(found.makers_at_work)


def test_time_of_makers_that_stand_in_a_queue_is_no_work(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(10):
        begun, at = at, maker.marks(at, {"load": 10 * MS, "forward": 90 * MS})
        maker.stacks(begun, at, ["train"])
        for tid in (2, 3):
            maker.stacks(begun, begun + 60 * MS, ["work", "decode"], tid=tid)
            maker.stacks(begun + 60 * MS, at, ["work", "put"], tid=tid, file="queue.py")
        maker.stacks(begun, at, ["feed", "get"], tid=4, file="queue.py")
    recording = maker.recording()
    found = input_facts(recording, find_steps(recording))
    assert found is not None
    assert found.n_makers == 2
    assert found.makers_at_work == pytest.approx(0.6)
    # Nine settled steps and the first, all of them in steps.
    assert found.n_stacks == 2 * 10 * 20


def test_without_a_mark_or_samples(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(4):
        at = maker.marks(at, {"forward": 60 * MS})
    recording = maker.recording()
    assert input_facts(recording, find_steps(recording)) is None
    for _ in range(4):
        at = maker.marks(at, {"load": 60 * MS})
    recording = maker.recording()
    found = input_facts(recording, find_steps(recording))
    assert found is not None
    assert np.isnan(found.busy_share)


def test_moments_inside_intervals() -> None:
    when = union([0, 20], [10, 30])
    assert inside(when, np.array([0, 9, 10, 25, 30])).tolist() == [True, True, False, True, False]
    assert inside(union([], []), np.array([1])).tolist() == [False]
