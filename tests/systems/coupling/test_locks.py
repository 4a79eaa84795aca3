"""Lock waits against arrivals at random."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.locks import hold_second_moment, lock_wait, overlap_second_moment


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


@pytest.mark.parametrize(
    ("hold_s", "std_s", "gap_s", "gap_std_s"),
    [
        (6.0, 0.0, 0.0, 1.0),
        (6.0, 0.0, -20.0, 3.0),
        (6.0, 0.0, 3.0, 2.0),
        (6.0, 1.0, 3.0, 2.0),
        (6.0, 0.0, -3.0, 2.0),
        (6.0, 1.0, 6.5, 0.1),
    ],
)
def test_what_is_left_of_a_hold_after_a_gap(hold_s: float, std_s: float, gap_s: float, gap_std_s: float) -> None:
    rng, n_draws = np.random.default_rng(1), 1_000_000
    gap = gap_s + gap_std_s * rng.standard_normal(n_draws)
    hold = hold_s + std_s * rng.standard_normal(n_draws)
    left = np.maximum(hold - np.maximum(gap, 0.0), 0.0) ** 2
    found = overlap_second_moment(*(np.array(value) for value in (hold_s, std_s, gap_s, gap_std_s)))
    assert found == pytest.approx(left.mean(), rel=0.01)


def test_without_variation_a_gap_is_taken_off_the_hold() -> None:
    gaps, zero = np.array([-2.0, 0.0, 2.0, 6.0, 50.0]), np.zeros(5)
    assert overlap_second_moment(zero + 6.0, zero, gaps, zero) == pytest.approx([36.0, 36.0, 16.0, 0.0, 0.0], abs=1e-9)
