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
