"""Intervals of series whose values resemble the ones before: drawn autoregressions, and the formulas with whole matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from mlperf.core.arrays import FloatArray
from mlperf.traces.runs.ratio import independent_ratio
from mlperf.traces.runs.resemblance import CORRELATIONS, mean_inflation, scatter, widening


def autoregression(rng: np.random.Generator, n: int, correlation: float) -> FloatArray:
    """Values about 1 that scatter by 5 %."""
    noise = rng.standard_normal(n)
    values = [noise[0]]
    for each in noise[1:]:
        values.append(correlation * values[-1] + math.sqrt(1 - correlation**2) * each)
    return 1 + 0.05 * np.array(values)


def test_what_a_series_says_is_what_its_whole_matrix_says() -> None:
    series = np.array([1.0, 1.2, 1.1, 0.7, 0.9, 1.4])
    found, ones = scatter(series), np.ones(6)
    for at, correlation in enumerate(CORRELATIONS):
        matrix = correlation ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
        inverse = np.linalg.inv(matrix)
        rest = series - (ones @ inverse @ series) / (ones @ inverse @ ones)
        squares = rest @ inverse @ rest
        known = -np.linalg.slogdet(matrix)[1] / 2 - math.log(ones @ inverse @ ones) / 2 - 2.5 * math.log(squares)
        assert found.log_likelihood[at] == pytest.approx(known)
        assert found.variance[at] == pytest.approx(squares / 5)
        assert mean_inflation(6)[at] == pytest.approx(matrix.mean())


@pytest.mark.parametrize(("n", "correlation"), [(10, 0.8), (20, 0.8), (40, 0.8), (20, 0.5)])
def test_a_program_is_as_fast_as_itself_though_its_steps_resemble_the_ones_before(n: int, correlation: float) -> None:
    """52, 40, 25 and 16 % of such pairs were called different."""
    rng, draws = np.random.default_rng(n), 150
    found = [independent_ratio(autoregression(rng, n, correlation), autoregression(rng, n, correlation)) for _ in range(draws)]
    # 0.07 + 3 standard errors.
    assert np.mean([not one.low <= 1 <= one.high for one in found]) <= 0.13


def test_independent_values_keep_their_power() -> None:
    """A difference of 2.8 standard errors is seen with a chance of 78 % by Student's t."""
    rng, n = np.random.default_rng(8), 40
    slower = 1 + 2.8 * 0.05 * math.sqrt(2 / n)
    found = [independent_ratio(autoregression(rng, n, 0.0), slower * autoregression(rng, n, 0.0)) for _ in range(150)]
    assert np.mean([one.low > 1 for one in found]) >= 0.67


def test_many_independent_values_have_students_interval() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(1, 0.05, 40), rng.normal(1, 0.05, 40)
    found = independent_ratio(a, b)
    half = stats.t.ppf(0.975, 78) * math.sqrt(a.var(ddof=1) / 40 + b.var(ddof=1) / 40)
    assert math.log(found.high / found.low) / 2 == pytest.approx(half, rel=0.05)
    assert widening(a, b, 0.95) == pytest.approx(1, abs=0.05)


def test_rank_sums_of_values_that_resemble_the_ones_before_are_widened() -> None:
    rng, draws = np.random.default_rng(3), 60
    found = [
        independent_ratio(autoregression(rng, 20, 0.8), autoregression(rng, 20, 0.8), statistic="median") for _ in range(draws)
    ]
    # 37 % were called different before.
    assert np.mean([not one.low <= 1 <= one.high and not math.isnan(one.low) for one in found]) <= 0.15


def test_values_that_do_not_scatter() -> None:
    found = independent_ratio(np.full(5, 2.0), np.full(4, 3.0))
    assert (found.ratio, found.low, found.high) == pytest.approx((1.5, 1.5, 1.5))
    one = independent_ratio(np.full(30, 2.0), np.random.default_rng(1).normal(2, 0.1, 30))
    assert one.low < 1 < one.high
