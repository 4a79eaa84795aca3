"""Ratios with intervals: against scipy, by hand, and by drawing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.traces.runs import ratio
from mlperf.traces.runs.order import block_orders
from mlperf.traces.runs.ratio import batched, block_differences, block_ratio, independent_ratio

pytestmark = pytest.mark.slow


def test_differences_of_blocks_by_hand() -> None:
    times = np.array([[1.0, 2.0, 2.0, 1.0], [2.0, 1.0, 1.0, 2.0]])
    is_b = np.array([[False, True, True, False], [True, False, False, True]])
    np.testing.assert_allclose(block_differences(times, is_b), math.log(2))


def test_the_interval_of_the_mean_is_students() -> None:
    differences = np.array([0.1, 0.2, 0.15, 0.05, 0.12])
    found = block_ratio(differences)
    low, high = stats.t.interval(0.95, 4, differences.mean(), stats.sem(differences))
    assert (found.ratio, found.low, found.high) == pytest.approx((math.exp(differences.mean()), math.exp(low), math.exp(high)))
    assert math.isnan(block_ratio(differences[:1]).ratio)


def test_the_interval_of_the_median_is_the_signed_rank_tests() -> None:
    differences = np.array([0.11, 0.23, 0.17, 0.05, 0.12, -0.02, 0.31, 0.08])
    found = block_ratio(differences, statistic="median")
    # What lies inside is not rejected, what lies outside is.
    for inside in (math.log(found.low) + 1e-6, math.log(found.high) - 1e-6):
        assert stats.wilcoxon(differences - inside, method="exact").pvalue > 0.05
    for outside in (math.log(found.low) - 1e-6, math.log(found.high) + 1e-6):
        assert stats.wilcoxon(differences - outside, method="exact").pvalue <= 0.05
    assert math.isnan(block_ratio(differences[:4], statistic="median").low)


def test_series_measured_apart_are_welchs() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.gamma(50, 0.02, 8), rng.gamma(50, 0.03, 9)
    found = independent_ratio(a, b)
    assert found.ratio == pytest.approx(b.mean() / a.mean())
    assert found.low < found.ratio < found.high
    shift = independent_ratio(a, b, statistic="median")
    for outside in (shift.low * (1 - 1e-6), shift.high * (1 + 1e-6)):
        assert stats.mannwhitneyu(np.log(a), np.log(b) - math.log(outside), method="exact").pvalue <= 0.05
    with pytest.raises(DataError, match="2 values for B"):
        independent_ratio(a, b[:2])


def test_batches_leave_the_start_out() -> None:
    np.testing.assert_allclose(batched(np.arange(23.0), 3).mean(axis=1), np.arange(3.0, 23, 3.0))


@pytest.mark.parametrize("drift", [0.0, 0.3])
@pytest.mark.parametrize("noise", ["lognormal", "exponential"])
@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_intervals_cover(drift: float, noise: str, statistic: str) -> None:
    rng = np.random.default_rng(5)
    n_blocks, hits, n = 8, 0, 1500
    slower = np.exp(drift * np.arange(4 * n_blocks).reshape(n_blocks, 4) / (4 * n_blocks))
    for seed in range(n):
        is_b = np.array([[name == "B" for name in order] for order in block_orders(n_blocks, seed)])
        spread = rng.lognormal(0, 0.1, is_b.shape) if noise == "lognormal" else 1 + 0.2 * rng.exponential(size=is_b.shape)
        found = block_ratio(block_differences(np.where(is_b, 1.05, 1.0) * spread * slower, is_b), statistic=statistic)
        hits += found.low <= 1.05 <= found.high
    assert 0.93 <= hits / n <= 0.985


@pytest.mark.parametrize(("n_a", "n_b"), [(3, 100), (19, 200), (20, 3000)])
@pytest.mark.parametrize("noise", ["lognormal", "disturbed"])
def test_a_program_is_as_fast_as_itself_by_the_median_however_many_values(n_a: int, n_b: int, noise: str) -> None:
    """Means of long batches beside single values called 16 to 49 % of such pairs different."""
    rng, n, wrong = np.random.default_rng(7), 600, 0

    def times(size: int) -> np.ndarray:
        if noise == "lognormal":
            return rng.lognormal(0, 0.5, size)
        return rng.normal(1.0, 0.01, size) + (rng.random(size) < 0.1) * rng.exponential(0.5, size)

    for _ in range(n):
        found = independent_ratio(times(n_a), times(n_b), statistic="median")
        wrong += not found.low <= 1 <= found.high
    # 0.05 + 3 standard errors of a share of 600.
    assert wrong / n <= 0.077


def test_rank_sums_of_long_series_are_as_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = ratio._rank_sum_cut.__wrapped__
    counted = cut(10, 300, 0.025)
    monkeypatch.setattr(ratio, "MOST_COUNTED", 1000)
    assert cut(10, 300, 0.025) == pytest.approx(counted, rel=0.01)


@pytest.mark.parametrize(("few", "many"), [(3, 100), (5, 50), (19, 200)])
def test_few_values_scatter_at_least_as_the_many_beside_them(few: int, many: int) -> None:
    """One run in ten is slow: few seldom hold one, and looked surer of a difference than they were (27 to 42 % of such pairs)."""
    rng = np.random.default_rng(few)

    def series(n: int) -> FloatArray:
        slow = np.where(rng.random(n) < 0.1, rng.exponential(0.5, n), 0.0)
        return np.asarray(1.0 + 0.01 * rng.standard_normal(n) + slow)

    for factor, least, most in ((1.0, 0.0, 0.02), (1.5, 0.7, 1.0)):
        found = [independent_ratio(series(few), factor * series(many)) for _ in range(300)]
        told = np.mean([not one.low <= 1.0 <= one.high for one in found])
        assert least <= told <= most
    # As many of both say by themselves how far they scatter.
    alike = [independent_ratio(series(many), series(many)) for _ in range(300)]
    assert 0.01 < np.mean([not one.low <= 1.0 <= one.high for one in alike]) < 0.09
