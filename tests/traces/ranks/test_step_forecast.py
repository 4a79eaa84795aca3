"""Forecasts of steps: coverage of drawn steps, halves that agree and do not, intervals of correlated means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstwobign

from mlperf.traces.ranks.step_forecast import KS_FACTOR, check_halves, forecast_steps, mean_interval


def test_nine_of_ten_further_steps_lie_inside() -> None:
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(2000):
        steps = rng.normal(3.0, 0.2, 11)
        told = forecast_steps(steps[:10])
        inside.append(told.lower_s <= steps[10] <= told.upper_s)
    assert np.mean(inside) == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / 2000))


def test_halves_from_one_distribution_agree_and_others_do_not() -> None:
    rng = np.random.default_rng(1)
    same = rng.normal(3.0, 0.2, 40)
    assert check_halves(same).holds
    other = check_halves(np.where(np.arange(40) < 20, same, same + 1.0))
    assert not other.holds
    assert other.ks == 1.0
    assert other.coverage <= 0.05
    assert other.mean_error == pytest.approx(-0.25, abs=0.05)


def test_the_point_is_that_of_the_limiting_distribution() -> None:
    assert pytest.approx(kstwobign.ppf(0.95), abs=1e-3) == KS_FACTOR
    assert check_halves(np.arange(32.0)).ks_point == pytest.approx(0.48, abs=0.005)


def test_intervals_of_means_cover_with_correlated_steps() -> None:
    rng = np.random.default_rng(2)
    inside = []
    for _ in range(1000):
        draws = rng.normal(size=300)
        steps = np.empty(300)
        steps[0] = draws[0] / math.sqrt(1 - 0.6**2)
        for at in range(1, 300):
            steps[at] = 0.6 * steps[at - 1] + draws[at]
        lower, upper = mean_interval(steps)
        inside.append(lower <= 0.0 <= upper)
    # Without the correction it would be about 0.67.
    assert 0.90 <= np.mean(inside) <= 0.98


def test_too_few_steps_have_no_interval() -> None:
    assert math.isnan(forecast_steps(np.array([2.0])).lower_s)
    assert math.isnan(check_halves(np.array([2.0, 3.0, 4.0])).ks)
    assert math.isnan(mean_interval(np.array([1.0]))[0])
    assert mean_interval(np.array([1.0, 1.0, 1.0])) == (1.0, 1.0)
