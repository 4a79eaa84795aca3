"""The barrier of nodes whose holds and work vary, against Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.barrier import barrier_excess, beta_binomial_cdf
from mlperf.systems.coupling.barrier_wait import FreshBuffer, barrier_wait, fresh_barrier_wait

pytestmark = pytest.mark.slow


def test_barrier_with_work_that_varies_against_monte_carlo() -> None:
    n, p, n_nodes, sum_s, deposit_s, gpu_s, deposit_std_s, own_std_s = 4, 0.7, 8, 0.006, 0.005, 0.07, 0.002, 0.006
    rng, n_draws = np.random.default_rng(3), 400_000
    masses = np.diff([0.0, *(float(level) for level in beta_binomial_cdf(n, np.array(p), np.array(1.2))), 1.0])
    fresh = rng.choice(n + 1, size=(n_draws, n_nodes), p=np.maximum(masses, 0.0) / masses.sum())
    # A hold that is met is drawn in proportion to its length, and met at a random place.
    shape, scale = (deposit_s / deposit_std_s) ** 2, deposit_std_s**2 / deposit_s
    wait_s = np.zeros((n_draws, n_nodes))
    for _ in range(n):
        met = rng.random((n_draws, n_nodes)) < deposit_s / gpu_s
        wait_s += met * rng.random((n_draws, n_nodes)) * rng.gamma(shape + 1.0, scale, (n_draws, n_nodes))
    node_s = sum_s * fresh + wait_s + own_std_s * rng.standard_normal((n_draws, n_nodes))
    excess_s = node_s.max(axis=1) - node_s.mean(axis=1)
    args = (np.array([value]) for value in (p, n_nodes, 1.2, sum_s, deposit_s, gpu_s, deposit_std_s, own_std_s))
    assert barrier_wait(n, *args)[0] == pytest.approx(excess_s.mean(), rel=0.01)


def test_the_largest_of_normal_nodes_alone() -> None:
    """e_N = N int z phi Phi**(N-1): .5642, 1.4236 and 2.3437 for 2, 8 and 64 nodes."""
    zero, nodes = np.zeros(3), np.array([2.0, 8.0, 64.0])
    found = barrier_wait(3, zero + 0.5, nodes, zero + 1.0, zero, zero, zero + 1.0, zero, zero + 0.01)
    assert found == pytest.approx(0.01 * np.array([0.5642, 1.4236, 2.3437]), rel=2e-3)


# GPUs, p, nodes, variance over the binomial's; S, UG and the chance to meet it, F and the chance to meet it; own deviation
CASES = [
    (4, 0.7, 8, 1.2, (0.006, 0.005, 0.1, 0.004, 0.0), 0.0),
    (4, 0.7, 8, 1.2, (0.006, 0.005, 0.1, 0.004, 0.3), 0.006),
    (1, 0.3, 32, 1.0, (0.02, 0.03, 0.5, 0.0, 0.0), 0.002),
    (8, 1.0, 2, 1.6, (0.004, 0.01, 0.2, 0.02, 0.05), 0.001),
    (2, 0.9, 64, 1.1, (0.0, 0.02, 0.05, 0.01, 0.02), 0.0),
]


def drawn_excess(
    n: int, p: float, n_nodes: int, spread: float, parts: tuple[float, float, float, float, float], own_std_s: float
) -> np.ndarray:
    """Max over nodes minus their mean, of 100,000 draws: every fresh buffer has a sum, and may have either wait."""
    rng, n_draws = np.random.default_rng(5), 100_000
    sum_s, *waits = parts
    masses = np.diff([0.0, *(float(level) for level in beta_binomial_cdf(n, np.array(p), np.array(spread))), 1.0])
    n_fresh = rng.choice(n + 1, size=(n_draws, n_nodes), p=np.maximum(masses, 0.0) / np.maximum(masses, 0.0).sum())
    node_s = sum_s * n_fresh + own_std_s * rng.standard_normal((n_draws, n_nodes))
    for buffer in range(n):
        for hold_s, met in zip(waits[::2], waits[1::2], strict=True):
            waited = (buffer < n_fresh) & (rng.random((n_draws, n_nodes)) < met)
            node_s += waited * hold_s * rng.random((n_draws, n_nodes))
    return np.asarray(node_s.max(axis=1) - node_s.mean(axis=1))


@pytest.mark.parametrize("case", CASES)
def test_waits_for_fresh_buffers_alone_against_monte_carlo(case: tuple) -> None:
    n, p, n_nodes, spread, parts, own_std_s = case
    excess_s = drawn_excess(*case)
    buffer = FreshBuffer(*(np.array([part]) for part in parts))
    found = fresh_barrier_wait(n, *(np.array([value]) for value in (p, n_nodes, spread)), buffer, np.array([own_std_s]))
    assert found[0] == pytest.approx(excess_s.mean(), abs=4.0 * excess_s.std() / np.sqrt(excess_s.size))


def test_without_waits_and_variation_only_buffers_count() -> None:
    p, nodes, spread, zero = np.array([0.2, 0.7, 0.7]), np.array([4.0, 32.0, 1.0]), np.array([1.1, 1.3, 1.3]), np.zeros(3)
    found = fresh_barrier_wait(4, p, nodes, spread, FreshBuffer(zero + 0.01, zero, zero, zero, zero), zero)
    assert found == pytest.approx(0.01 * barrier_excess(4, p, nodes, spread), rel=1e-9)
    assert found[2] == 0.0


def test_a_wait_that_tells_of_a_fresh_buffer_spreads_nodes_more() -> None:
    """The same mean waits, of any buffer or of fresh ones: nodes that add more buffers wait more as well."""
    args = (np.array([0.5]), np.array([8.0]), np.array([1.2]))
    of_any = barrier_wait(4, *args, np.array([0.006]), np.array([0.005]), np.array([0.05]))
    met = np.array([0.1 / 0.5])
    of_fresh = fresh_barrier_wait(4, *args, FreshBuffer(np.array([0.006]), np.array([0.005]), met, met * 0, met * 0), np.zeros(1))
    assert of_fresh[0] > 1.05 * of_any[0]
