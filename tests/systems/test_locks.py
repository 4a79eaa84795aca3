"""Lock waits against arrivals at random."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.locks import hold_second_moment, lock_wait


def test_the_wait_is_that_of_random_arrivals() -> None:
    """A lock held for 0.2 s of every 1 s in three of ten periods; 4e5 arrivals."""
    rng = np.random.default_rng(7)
    held = rng.random(400_000) < 0.3
    arrival = rng.random(held.size)
    waits = np.where(held & (arrival < 0.2), 0.2 - arrival, 0.0)
    wait = lock_wait(hold_second_moment(np.array(0.2), np.array(0.3), 1), np.array(1.0))
    assert wait == pytest.approx(waits.mean(), abs=4.0 * waits.std() / np.sqrt(waits.size))


def test_the_paper_squares_the_mean_hold() -> None:
    assert hold_second_moment(np.array(0.2), np.array(0.3), 2) == pytest.approx(0.06**2)
    assert hold_second_moment(np.array(0.2), np.array(0.3), 1) == pytest.approx(0.3 * 0.2**2)
