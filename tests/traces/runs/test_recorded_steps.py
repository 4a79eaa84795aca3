"""Two recordings side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.traces.runs.recorded_steps import compare_recordings, step_times


def run(made: Callable[[], Made], length_ms: int, seed: int) -> Made:
    maker, at, rng = made(), 0, np.random.default_rng(seed)
    for _ in range(60):
        at = maker.marks(at, {"forward": int(length_ms * MS * rng.uniform(0.98, 1.02))})
    return maker


def test_before_and_after(made: Callable[[], Made]) -> None:
    before, after = run(made, 100, 1).recording(Path("before")), run(made, 80, 2).recording(Path("after"))
    found = compare_recordings(before, after)
    assert (found.verdict, found.of) == ("faster", "recordings")
    assert found.ratio == pytest.approx(0.8, abs=0.01)
    assert found.summary["steps_per_second"].tolist() == pytest.approx([10.0, 12.5], rel=0.02)


def test_the_slowest_rank_decides(made: Callable[[], Made]) -> None:
    maker = made()
    for number in range(5):
        for rank, length in ((0, 50), (1, 70)):
            maker.marks(number * 100 * MS, {"forward": length * MS}, rank=rank)
    np.testing.assert_allclose(step_times(maker.recording()), 0.07)
