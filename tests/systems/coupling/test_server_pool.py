"""Closed forms of closed queues against exact fractions, event simulations and each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.systems.coupling.queues import closed_queue
from mlperf.systems.coupling.server_pool import finite_source_queue, pooled_queue
from mlperf.systems.parameter_server.simulate import ServerPlan, simulate_servers


def balance(think: Fraction, service: Fraction, n_workers: int, n_servers: int) -> tuple[Fraction, Fraction]:
    """Throughput and mean number at the servers from the balance equations, in fractions."""
    weights = [Fraction(1)]
    for k in range(1, n_workers + 1):
        weights.append(weights[-1] * (n_workers - k + 1) * service / (think * min(k, n_servers)))
    total = sum(weights)
    busy = sum(min(k, n_servers) * weight for k, weight in enumerate(weights)) / total
    return busy / service, sum(k * weight for k, weight in enumerate(weights)) / total


@pytest.mark.parametrize(("n_workers", "n_servers"), [(1, 1), (5, 2), (40, 3), (250, 8), (4, 9)])
@pytest.mark.parametrize(("think", "service"), [("1", "1/10"), ("1/50", "2"), ("30", "1/7")])
def test_several_servers_to_rounding(think: str, service: str, n_workers: int, n_servers: int) -> None:
    throughput, present = balance(Fraction(think), Fraction(service), n_workers, n_servers)
    found = pooled_queue(float(Fraction(think)), float(Fraction(service)), n_workers, n_servers)
    assert float(found.throughput_per_s) == pytest.approx(float(throughput), rel=1e-13)
    assert float(found.queue_length) == pytest.approx(float(present), rel=1e-13)


def test_several_servers_against_a_simulation() -> None:
    plan = ServerPlan([1.0] * 16, 0.2, work_variation=0.7, service_variation=1.0, n_servers=3, n_services=200_000)
    simulated = simulate_servers(plan, seed=2)
    found = pooled_queue(1.0, 0.2, 16, 3)
    assert float(found.throughput_per_s) == pytest.approx(simulated.updates_per_s, abs=4 * simulated.updates_per_s_std_err)
    assert float(found.wait_s) == pytest.approx(simulated.wait_s, rel=0.03)


def test_one_server_is_the_exponential_recursion() -> None:
    rng = np.random.default_rng(5)
    think, service, n_workers = rng.uniform(0, 1, 200), rng.uniform(0.001, 0.1, 200), rng.integers(1, 300, 200)
    recursion = closed_queue(think, service, n_workers, 1.0)
    pooled = pooled_queue(think, service, n_workers, 1)
    assert pooled.throughput_per_s == pytest.approx(recursion.throughput_per_s, rel=1e-13)
    finite = finite_source_queue(think, service, n_workers, 1.0)
    assert finite.throughput_per_s == pytest.approx(recursion.throughput_per_s, rel=1e-12)


@pytest.mark.parametrize("n_workers", [2, 7, 12])
@pytest.mark.parametrize("variation", [0.0, 0.5])
def test_random_arrivals_against_a_simulation(n_workers: int, variation: float) -> None:
    plan = ServerPlan([1.0] * n_workers, 0.15, work_variation=1.0, service_variation=variation, n_services=200_000)
    simulated = simulate_servers(plan, seed=3)
    found = float(finite_source_queue(1.0, 0.15, n_workers, variation**2).throughput_per_s)
    assert found == pytest.approx(simulated.updates_per_s, abs=4 * simulated.updates_per_s_std_err)


def test_constant_service_of_two_workers_by_hand() -> None:
    """Idle 1 / (1 + 2 r e^r) with r = S/Z, since 1 + (e^r - 1) = e^r."""
    ratio = 0.3
    found = finite_source_queue(1.0, ratio, 2)
    assert float(found.utilisation) == pytest.approx(1 - 1 / (1 + 2 * ratio * np.exp(ratio)), rel=1e-14)


def test_the_residual_of_constant_service_is_close_to_the_exact_value() -> None:
    """Within 8 % over three decades of the ratio, the worst near saturation."""
    n_workers, ratio = np.meshgrid(np.arange(2, 60), np.geomspace(0.001, 1.0, 40))
    exact = finite_source_queue(1.0, ratio, n_workers).throughput_per_s
    error = closed_queue(1.0, ratio, n_workers).throughput_per_s / exact - 1.0
    assert np.abs(error).max() < 0.08
    assert np.abs(error).mean() < 0.01


def test_what_is_no_pool() -> None:
    with pytest.raises(DataError, match=r"got 1\.5 servers"):
        pooled_queue(1.0, 0.1, 3, 1.5)
    with pytest.raises(DataError, match="think time of 0 s"):
        finite_source_queue(0.0, 0.1, 3)
