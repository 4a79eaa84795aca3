"""Gains: means of what steps save, and intervals that cover (checked by drawing)."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.planning.advice.gains import gain_of, half_width, half_width_of_others

pytestmark = pytest.mark.slow


def test_a_gain_is_a_mean_and_a_share() -> None:
    found = gain_of(np.array([1.0, 3.0]), np.array([0.5, 0.5]), naive_s=np.array([1.0, 1.0]))
    assert (found.step_s, found.saved_s, found.share, found.naive_s) == (2.0, 0.5, 0.25, 1.0)
    # Steps that save all the same leave what another run may differ.
    assert (found.lower_s, found.upper_s) == pytest.approx((0.5 - 1.96 * 0.02 * 2, 0.5 + 1.96 * 0.02 * 2))
    assert (found.lower_share, found.upper_s / found.step_s) == pytest.approx((0.25 - 0.0392, 0.25 + 0.0392))


def test_what_a_change_may_do_widens_it() -> None:
    step, saved = np.full(20, 1.0), np.full(20, 0.4)
    found = gain_of(step, saved, least=saved / 2, most=saved * 4)
    assert found.lower_s == pytest.approx(0.2 - 0.0392)
    assert found.upper_s == 1.0  # no step saves more than all of it


def test_one_step_tells_no_interval() -> None:
    assert half_width(np.array([1.0])) == np.inf
    found = gain_of(np.array([1.0]), np.array([0.5]))
    assert (found.lower_s, found.upper_s) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("n", "correlation", "least"), [(60, 0.0, 0.92), (60, 0.5, 0.92), (39, 0.8, 0.9), (39, 0.9, 0.87), (20, 0.8, 0.86)]
)
def test_the_interval_covers_the_mean(n: int, correlation: float, least: float) -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(1500):
        noise = rng.standard_normal(n)
        for at in range(1, n):
            noise[at] = correlation * noise[at - 1] + np.sqrt(1 - correlation**2) * noise[at]
        values = 5.0 + noise
        hits += abs(values.mean() - 5.0) <= half_width(values)
    assert hits / 1500 > least


def test_two_steps_keep_the_interval_of_two() -> None:
    values = np.array([1.0, 2.0])
    assert half_width(values) == pytest.approx(half_width_of_others(values))
    assert half_width(values) > 6.0


def test_a_machine_that_gets_faster_leaves_the_gain_known() -> None:
    """Each of forty steps would save between 40 and 52 of 100 ms: so does their mean."""
    saved = np.r_[np.full(20, 0.052), np.full(20, 0.040)] + 1e-4 * np.cos(np.arange(40))
    found = gain_of(np.full(40, 0.1), saved)
    assert found.lower_s > 0.03
    assert found.upper_s < 0.06


def test_the_interval_of_independent_values_is_students() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    # 3.182 is Student's 97.5 % quantile of three degrees of freedom, as tables print it; the order does not matter.
    expected = 3.182 * values.std(ddof=1) / 2
    assert half_width_of_others(values) == pytest.approx(expected, rel=1e-3)
    assert half_width_of_others(values[[3, 0, 2, 1]]) == half_width_of_others(values)
    assert half_width_of_others(values[:1]) == float("inf")
