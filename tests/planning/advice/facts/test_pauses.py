"""Long steps and collections of made runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.planning.advice.facts.pauses import pause_facts
from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.steps import find_steps


def test_distances_of_long_steps(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for number in range(25):
        at = maker.marks(at, {"forward": (90 if number % 6 == 5 else 50) * MS})
    found = pause_facts(maker.recording(), find_steps(maker.recording()))
    assert found.long_steps == 4
    assert found.period_steps == 6
    np.testing.assert_allclose(found.excess_s[found.excess_s > 0], 0.04)
    assert found.collected_s.sum() == 0


def test_batches_that_come_in_bunches_are_no_pause(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for number in range(25):
        at = maker.marks(at, {"load": (200 if number % 4 == 3 else 1) * MS, "forward": 50 * MS})
    found = pause_facts(maker.recording(), find_steps(maker.recording()))
    assert found.long_steps == 0
    assert found.excess_s.sum() == 0


def test_long_steps_now_and_then_have_no_period(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for number in range(40):
        at = maker.marks(at, {"forward": (90 if number in (5, 7, 30, 33) else 50) * MS})
    assert np.isnan(pause_facts(maker.recording(), find_steps(maker.recording())).period_steps)


@pytest.mark.parametrize(
    ("gaps", "period"),
    [
        # One long step more among those of a period.
        ((8, 8, 8, 5, 3, 8), 8),
        ((8, 8, 8, 8, 2, 25, 20), np.nan),
        ((8, 8, 3, 20), np.nan),
    ],
)
def test_a_period_is_what_two_distances_of_three_agree_on(made: Callable[[], Made], gaps: tuple[int, ...], period: float) -> None:
    maker, at = made(), 0
    long = set(np.cumsum((2, *gaps)).tolist())
    for number in range(max(long) + 3):
        at = maker.marks(at, {"forward": (90 if number in long else 50) * MS})
    found = pause_facts(maker.recording(), find_steps(maker.recording()))
    assert found.long_steps == len(long)
    np.testing.assert_equal(found.period_steps, period)


def test_a_slow_stretch_is_no_pause(made: Callable[[], Made]) -> None:
    """A machine that is busy at the begin and the end: long steps follow one another, and come back after 17."""
    maker, at = made(), 0
    for number in range(27):
        at = maker.marks(at, {"forward": (90 if number in (1, 2, 3, 4, 5, 6, 25, 26) else 50) * MS})
    found = pause_facts(maker.recording(), find_steps(maker.recording()))
    assert found.long_steps == 8
    assert np.isnan(found.period_steps)


def test_collections_of_any_thread_of_the_rank_count(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(5):
        begun, at = at, maker.marks(at, {"forward": 50 * MS})
        maker.add(Kind.REGION, begun + 10 * MS, 5 * MS, "gc", rank=0, pid=10, tid=7, name2="python")
    found = pause_facts(maker.recording(), find_steps(maker.recording()))
    np.testing.assert_allclose(found.collected_s, 0.005)
