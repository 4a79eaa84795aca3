"""Clocks under a bound: the recursion by hand, and the closed form against it."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.parameter_server.simulate import ServerPlan, simulate_servers
from mlperf.systems.parameter_server.stale import stale_factor, stale_steps


def gamma_times(n_clocks: int, n_workers: int, variation: float, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).gamma(variation**-2, variation**2, (n_clocks, n_workers))


def test_the_recursion_is_the_one_written_down() -> None:
    """finish_i(c) = max(finish_i(c-1), max_j finish_j(c-1-k)) + time_i(c), plainly."""
    times = gamma_times(50, 4, 0.5)
    for bound in (0, 1, 3):
        finish = np.zeros((51, 4))
        for clock in range(1, 51):
            released = finish[clock - 1 - bound].max() if clock - 1 - bound >= 0 else 0.0
            finish[clock] = np.maximum(finish[clock - 1], released) + times[clock - 1]
        assert stale_steps(times, bound, 0) == pytest.approx(finish[-1].max() / 50, rel=1e-14)
        assert stale_steps(times, bound, 10) == pytest.approx((finish[-1].max() - finish[10].max()) / 40, rel=1e-14)


@pytest.mark.parametrize(("bound", "published"), [(0, 1.600), (1, 1.138), (3, 1.054), (10, 1.021)])
def test_sixteen_workers_from_a_common_start(bound: int, published: float) -> None:
    """Times that vary by 30 %; a thousand clocks from the start, which costs a bound of 10 half a percent."""
    found = np.mean([stale_steps(gamma_times(1000, 16, 0.3, seed), bound, 0) for seed in range(20)])
    assert found == pytest.approx(published, abs=0.005)


@pytest.mark.parametrize("bound", [0, 1, 2, 5])
@pytest.mark.parametrize(("variation", "within"), [(0.1, 0.01), (0.3, 0.015), (0.5, 0.08), (1.0, 0.17)])
@pytest.mark.parametrize("n_workers", [2, 8, 64])
def test_the_closed_form_against_the_recursion(bound: int, variation: float, within: float, n_workers: int) -> None:
    recursion = stale_steps(gamma_times(300_000 // n_workers, n_workers, variation), bound)
    assert float(stale_factor(n_workers, bound, variation)) == pytest.approx(recursion, rel=within)


@pytest.mark.parametrize("bound", [0, 1, 3])
def test_the_event_simulation_without_a_server_is_the_recursion(bound: int) -> None:
    simulated = simulate_servers(ServerPlan([1.0] * 16, 0.0, 0.3, bound=bound, n_services=320_000), seed=2)
    assert 16 / simulated.updates_per_s == pytest.approx(stale_steps(gamma_times(20_000, 16, 0.3), bound), rel=0.005)


def test_limits() -> None:
    """One worker waits for nobody, an endless bound neither; a looser bound never slows."""
    bounds = np.arange(0, 40)
    factors = stale_factor(32, bounds, 0.4)
    assert (np.diff(factors) <= 0.0).all()
    assert float(stale_factor(32, 1e9, 0.4)) == pytest.approx(1.0, abs=1e-8)
    assert stale_factor(1, bounds, 0.4) == pytest.approx(1.0, abs=1e-4)
    assert stale_factor(32, bounds, 0.0) == pytest.approx(1.0, abs=1e-12)


def test_what_is_no_run_of_clocks() -> None:
    for times, bound, warmup in ((np.ones(5), 0, 0), (np.ones((5, 2)), -1, 0), (np.ones((5, 2)), 0, 5)):
        with pytest.raises(UsageError, match="expected"):
            stale_steps(times, bound, warmup)
