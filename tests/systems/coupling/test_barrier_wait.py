"""The barrier of nodes whose holds and work vary, against Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.barrier import beta_binomial_cdf
from mlperf.systems.coupling.barrier_wait import barrier_wait


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
