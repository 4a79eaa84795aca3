"""The barrier of SPRINT against Monte Carlo, limits and published values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mlperf.systems.coupling.barrier import (
    barrier_excess,
    beta_binomial_cdf,
    binomial_cdf,
    buffer_overdispersion,
    largest_normal,
    straggler_excess,
)
from mlperf.systems.coupling.barrier_wait import barrier_wait


def test_barrier_excess_matches_monte_carlo(reference: Any) -> None:
    """Equation 8 and its overdispersed form against stored draws, four standard errors."""
    for case in reference("sprint_monte_carlo.json")["barrier_excess"]:
        spread = None if case["spread"] == 1.0 else np.array(case["spread"])
        excess = barrier_excess(case["n"], np.array(case["p"]), np.array(case["nodes"]), spread)
        assert excess == pytest.approx(case["mean"], abs=4.0 * case["std_err"]), case


@pytest.mark.parametrize(
    ("n", "p", "nodes", "expected"),
    [
        (8, 0.3, 8, 1.89092),
        (8, 0.676, 8, 1.73707),
        (3, 0.52, 16, 1.35147),
        (8, 0.05, 64, 1.91185),
        (8, 0.95, 64, 0.40000),
        (1, 0.3, 16, 0.69668),
    ],
)
def test_barrier_excess_has_the_known_values(n: int, p: float, nodes: int, expected: float) -> None:
    assert barrier_excess(n, np.array(p), np.array(nodes)) == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_barrier_excess_has_its_limits(n: int) -> None:
    """No wait when all are fresh or alone; the whole missing part for endless nodes."""
    p = np.linspace(0.0, 1.0, 11)
    assert np.allclose(barrier_excess(n, p, np.ones(11)), 0.0, atol=1e-14)
    assert np.allclose(barrier_excess(n, p, np.full(11, 1e15))[1:], n * (1.0 - p[1:]), atol=1e-6)
    for spread in (None, np.full(11, 1.7)):
        excess = barrier_excess(n, p, np.full(11, 16.0), spread)
        assert excess[0] == pytest.approx(0.0, abs=1e-12)
        assert excess[-1] == pytest.approx(0.0, abs=1e-12)


def test_the_cdfs_are_those_of_scipy() -> None:
    p, n, spread = 0.37, 6, 1.8
    strength = (n - 1) / (spread - 1.0) - 1.0
    assert np.allclose(binomial_cdf(n, np.array(p)), stats.binom.cdf(np.arange(n), n, p), rtol=1e-13)
    ours = beta_binomial_cdf(n, np.array(p), np.array(spread))
    assert np.allclose(ours, stats.betabinom.cdf(np.arange(n), n, p * strength, (1 - p) * strength), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("nodes", [1, 4, 16, 64])
def test_expected_maximum_over_p_never_increases(n: int, nodes: int) -> None:
    """The lemma behind the uniqueness of the solution: Bin(n, t p) is a thinning of Bin(n, p)."""
    p = np.linspace(0.005, 1.0, 200)
    maximum = n * p + barrier_excess(n, p, np.full(p.size, float(nodes)))
    assert (np.diff(maximum / p) <= 1e-12).all()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 12])
def test_overdispersion_is_the_double_sum(n: int) -> None:
    for eps in (0.0, 0.01, 0.057, 0.3, 1.0):
        direct = sum((math.comb(j, i) * (1 + eps) ** (j - i) * eps**i) ** 2 for j in range(n) for i in range(j + 1)) / n
        assert buffer_overdispersion(n, np.array(eps)) == pytest.approx(direct, rel=1e-12)


def test_overdispersion_has_the_known_value() -> None:
    """Eight buffers, eps = 0.057: 1.62, where the exact chain over buffer states gives 1.58."""
    assert buffer_overdispersion(8, np.array(0.057)) == pytest.approx(1.62, abs=0.005)


@pytest.mark.parametrize(("workers", "expected"), [(1, 0.0), (2, 0.5642), (8, 1.4236), (64, 2.3437), (512, 3.0439)])
def test_straggler_excess_has_the_normal_order_statistics(workers: int, expected: float) -> None:
    assert straggler_excess(np.array(2.0), workers) == pytest.approx(2.0 * expected, abs=2e-4)


def test_barrier_wait_matches_monte_carlo(reference: Any) -> None:
    """The grid adds at most 0.2 % to four standard errors."""
    for case in reference("sprint_monte_carlo.json")["barrier_wait"]:
        names = ("p", "nodes", "spread", "sum_s", "deposit_s", "gpu_s")
        wait_s = barrier_wait(case["n"], *(np.array([case[name]]) for name in names))
        assert wait_s == pytest.approx(case["mean"], abs=4.0 * case["std_err"] + 0.002 * case["mean"]), case


def test_barrier_wait_without_lock_waits_is_the_excess_of_buffers() -> None:
    p, nodes, ones = np.linspace(0.05, 0.95, 10), np.full(10, 16.0), np.ones(10)
    wait_s = barrier_wait(8, p, nodes, ones, 0.02 * ones, 0.0 * ones, 0.5 * ones)
    assert np.allclose(wait_s, 0.02 * barrier_excess(8, p, nodes), rtol=2e-3, atol=1e-6)


def test_barrier_wait_keeps_the_mean_for_one_node_and_is_zero_without_work() -> None:
    p, ones = np.linspace(0.0, 1.0, 7), np.ones(7)
    assert np.allclose(barrier_wait(5, p, ones, 1.3 * ones, 0.013 * ones, 0.007 * ones, 0.1 * ones), 0.0, atol=1e-14)
    assert np.allclose(barrier_wait(5, p, 8 * ones, 1.3 * ones, 0.0 * ones, 0.0 * ones, 0.1 * ones), 0.0)


def test_barrier_wait_is_positive_when_every_buffer_is_fresh() -> None:
    """Equation 8 is 0 there; nodes still differ in lock waits."""
    one = np.ones(1)
    assert barrier_wait(8, one, 16 * one, one, 0.02 * one, 0.02 * one, 0.1 * one) > 0.004


def test_the_grid_is_seen_neither_in_the_wait_nor_in_its_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight times the points move the wait by less than 1e-4 of it; a slope is the same over a step of 0.01 % and of 4 %."""
    nodes, deposits_s = np.array([8.0, 16.0]), np.array([0.03, 0.03])
    one = np.ones(2)

    def wait(factor: float) -> np.ndarray:
        return np.asarray(barrier_wait(3, 0.5 * one, nodes, 1.05 * one, 0.02124 * one, factor * deposits_s, 0.5 * one))

    slopes = [(wait(1.0 + step) - wait(1.0 - step)) / (2.0 * step) for step in (1e-4, 1e-3, 4e-2)]
    assert slopes[0] == pytest.approx(slopes[2], rel=0.02)
    assert slopes[1] == pytest.approx(slopes[2], rel=0.02)
    coarse = wait(1.0)
    monkeypatch.setattr("mlperf.systems.coupling.barrier_wait.N_SUPPORT", 4096)
    monkeypatch.setattr("mlperf.systems.coupling.barrier_wait.N_POINTS", 8192)
    assert coarse == pytest.approx(wait(1.0), rel=1e-4)


@pytest.mark.parametrize("n", [1, 3, 16])
@pytest.mark.parametrize("overdispersion", [None, 1.5])
def test_the_barrier_grows_at_most_as_the_share_of_fresh_buffers(n: int, overdispersion: float | None) -> None:
    p = np.linspace(1e-3, 0.999, 500)
    spread = None if overdispersion is None else np.full(p.size, overdispersion)
    for n_nodes in (2.0, 8.0, 1024.0):
        assert (np.diff(barrier_excess(n, p, np.full(p.size, n_nodes), spread) / p) < 0.0).all()


def test_the_largest_of_normal_numbers_has_the_known_means() -> None:
    """Means of the largest order statistic (Harter, 1961), for whole arrays of worker counts at once."""
    counts = np.array([[1, 2, 3], [8, 64, 512]])
    expected = [[0.0, 0.5641896, 0.8462844], [1.4236003, 2.3437334, 3.0439032]]
    assert np.allclose(largest_normal(counts), expected, atol=5e-8)
    assert np.allclose(straggler_excess(np.array([0.1, 0.2, 0.3]), counts), np.array([0.1, 0.2, 0.3]) * expected, atol=5e-8)
