"""Discrete distributions against small cases worked by hand and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.distributions import Distribution, power_of_pmf


def test_moments_and_quantiles_of_a_die() -> None:
    die = Distribution(np.arange(1.0, 7.0), np.full(6, 1 / 6))
    assert die.mean == pytest.approx(3.5)
    assert die.std == pytest.approx(np.sqrt(35 / 12))
    assert die.quantile(0.5) == 3.0
    assert die.quantile([0.0, 0.51, 1.0]).tolist() == [1.0, 4.0, 6.0]
    assert die.cdf(2.0) == pytest.approx(1 / 3)
    assert die.cdf(0.5) == 0.0


def test_total_variation_between_zero_and_one() -> None:
    first = Distribution(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    second = Distribution(np.array([1.0, 2.0]), np.array([0.5, 0.5]))
    assert first.total_variation(first) == 0.0
    assert first.total_variation(second) == pytest.approx(0.5)
    assert first.total_variation(Distribution(np.array([7.0]), np.array([1.0]))) == pytest.approx(1.0)


def test_counts_and_samples_give_frequencies() -> None:
    counted = Distribution.from_counts(np.array([1, 0, 3, 0]), 4.0)
    assert counted.values.tolist() == [0.0, 4.0, 8.0]
    assert counted.probabilities.tolist() == [0.25, 0.0, 0.75]
    assert Distribution.from_sample(np.array([8, 0, 8, 8])).probabilities.tolist() == [0.25, 0.75]


def test_powers_of_a_coin_are_binomial() -> None:
    pmf = power_of_pmf(np.array([0.7, 0.3]), 40)
    assert pmf == pytest.approx(stats.binom.pmf(np.arange(41), 40, 0.3), abs=1e-15)


@pytest.mark.parametrize(
    ("values", "probabilities"),
    [([0.0, 1.0], [0.5, 0.4]), ([1.0, 0.0], [0.5, 0.5]), ([0.0, 1.0], [1.5, -0.5]), ([0.0], [0.5, 0.5]), ([], [])],
)
def test_what_is_no_distribution_is_refused(values: list[float], probabilities: list[float]) -> None:
    with pytest.raises(DataError):
        Distribution(np.array(values), np.array(probabilities))


def test_a_quantile_level_beyond_one_is_refused() -> None:
    with pytest.raises(UsageError, match="quantile level 95"):
        Distribution(np.array([0.0]), np.array([1.0])).quantile(95)
