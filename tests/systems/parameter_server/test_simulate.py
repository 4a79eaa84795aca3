"""The simulation against what is known without it."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.coupling.server_pool import finite_source_queue
from mlperf.systems.parameter_server.simulate import ServerPlan, simulate_servers


@pytest.mark.parametrize("n_workers", [1, 2, 7])
@pytest.mark.parametrize("variation", [0.0, 0.5])
def test_staleness_is_the_number_of_the_others(n_workers: int, variation: float) -> None:
    """A worker that fetches right after its push ages the other gradients by one each, exactly, whatever the speeds."""
    work = np.linspace(1.0, 3.0, n_workers)
    found = simulate_servers(ServerPlan(work, 0.1, variation, n_services=20_000), seed=1)
    assert found.mean_staleness == pytest.approx(n_workers - 1, abs=2 * n_workers**2 / 20_000)


def test_constant_times_never_wait_below_saturation_and_fill_the_server_above() -> None:
    few = simulate_servers(ServerPlan([1.0] * 9, 0.1, n_services=5_000), seed=1)
    assert few.updates_per_s == pytest.approx(9 / 1.1, rel=1e-3)
    assert few.wait_s == pytest.approx(0.0, abs=1e-9)
    many = simulate_servers(ServerPlan([1.0] * 20, 0.1, n_services=5_000), seed=1)
    assert many.updates_per_s == pytest.approx(10.0, rel=1e-9)
    assert many.utilisation == pytest.approx(1.0, rel=1e-9)
    assert many.wait_s == pytest.approx(20 / 10.0 - 1.1, rel=1e-2)


def test_random_times_are_the_exact_queue_and_littles_law_holds() -> None:
    found = simulate_servers(ServerPlan([1.0] * 8, 0.1, 1.0, n_services=200_000), seed=5)
    exact = finite_source_queue(1.0, 0.1, 8)
    assert found.updates_per_s == pytest.approx(float(exact.throughput_per_s), abs=4 * found.updates_per_s_std_err)
    assert found.wait_s == pytest.approx(float(exact.wait_s), rel=0.03)
    assert found.worker_updates_per_s.sum() == pytest.approx(found.updates_per_s, rel=1e-9)
    assert found.staleness.mean == pytest.approx(found.mean_staleness, rel=1e-9)


@pytest.mark.parametrize("bound", [0, 2])
def test_no_worker_is_ever_more_than_the_bound_ahead(bound: int) -> None:
    """So all advance equally, and a worker twice as slow holds all back."""
    work = [1.0, 1.0, 2.0]
    found = simulate_servers(ServerPlan(work, 0.0, bound=bound, n_services=3_000), seed=1)
    assert found.worker_updates_per_s == pytest.approx([0.5] * 3, rel=0.01)
    assert found.blocked_s == pytest.approx((1.0 + 1.0) / 3, rel=0.02)
    free = simulate_servers(ServerPlan(work, 0.0, n_services=3_000), seed=1)
    assert free.worker_updates_per_s == pytest.approx([1.0, 1.0, 0.5], rel=0.01)


def test_same_seed_same_result() -> None:
    plan = ServerPlan([1.0] * 5, 0.2, 0.3, 0.3, bound=1, n_services=2_000)
    one, two, other = (simulate_servers(plan, seed) for seed in (7, 7, 8))
    assert one.updates_per_s == two.updates_per_s != other.updates_per_s


@pytest.mark.parametrize(
    "plan",
    [
        ServerPlan([-1.0], 0.1),
        ServerPlan([], 0.1),
        ServerPlan([0.0], 0.0),
        ServerPlan([1.0], 0.1, n_servers=0),
        ServerPlan([1.0], 0.1, bound=-1),
        ServerPlan([1.0], 0.1, n_services=10),
    ],
)
def test_plans_that_cannot_run(plan: ServerPlan) -> None:
    with pytest.raises(UsageError):
        simulate_servers(plan, seed=1)
