"""The asynchronous parameter server against an event simulation, by hand and in its limits."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.parameter_server.simulate import ServerPlan, simulate_servers
from mlperf.systems.registry import find_system

pytestmark = pytest.mark.slow

SYSTEM = find_system("parameter-server")
RUN = {"n_nodes": 1, "n_gpus_per_node": 1, "subbatch_size": 32, "dataset_size": 64_000}


def test_one_worker_by_hand() -> None:
    found = SYSTEM.solve({"compute": 1.0, "pull": 0.2, "push": 0.3, "apply": 0.1}, {**RUN, "n_servers": 2}).outputs
    assert float(found["step_s"]) == pytest.approx(1.4)
    assert float(found["epoch_s"]) == pytest.approx(2000 * 1.4)
    assert float(found["samples_per_s"]) == pytest.approx(32 / 1.4)
    assert float(found["mean_minibatch_size"]) == 32
    assert float(found["mean_staleness"]) == 0.0
    assert float(found["saturation_workers"]) == pytest.approx(7.0)


@pytest.mark.parametrize(("n_workers", "n_slow"), [(4, 0), (12, 0), (40, 0), (12, 5), (6, 6)])
def test_against_a_simulation(n_workers: int, n_slow: int) -> None:
    """Computing varies by 30 %, services are constant; two servers hold half of the weights each."""
    times = {"compute": 1.0, "pull": 0.1, "push": 0.12, "apply": 0.04}
    run = {**RUN, "n_nodes": n_workers, "n_servers": 2, "n_slow_workers": n_slow, "slow_factor": 1.5}
    found = SYSTEM.solve(times, run)
    work = [1.1] * (n_workers - n_slow) + [1.6] * n_slow
    simulated = simulate_servers(ServerPlan(work, 0.08, 0.3, n_services=60_000), seed=1)
    assert float(found.outputs["updates_per_s"]) == pytest.approx(simulated.updates_per_s, rel=0.025)
    assert float(found.outputs["server_utilisation"]) == pytest.approx(simulated.utilisation, rel=0.025)
    assert float(found.outputs["mean_staleness"]) == pytest.approx(simulated.mean_staleness, abs=0.01)
    assert bool(found.flags["saturated"]) == (n_workers == 40)
    assert bool(found.flags["mixed"]) == (0 < n_slow < n_workers)


def test_activities_add_up_and_arrays_are_answered_at_once() -> None:
    rng = np.random.default_rng(2)
    size = 400
    times = {name: rng.uniform(0.01, high, size) for name, high in (("compute", 1.0), ("pull", 0.1), ("push", 0.1), ("apply", 0.1))}
    run = {
        **RUN,
        "n_nodes": rng.integers(4, 30, size),
        "n_servers": rng.integers(1, 5, size),
        "n_slow_workers": rng.integers(0, 5, size),
        "slow_factor": 1.3,
    }
    found = SYSTEM.solve(times, run)
    assert sum(found.breakdown_s["worker"].values()) == pytest.approx(found.outputs["step_s"], rel=1e-12)
    assert sum(found.breakdown_s["server"].values()) == pytest.approx(1 / found.outputs["updates_per_s"], rel=1e-9)
    one = SYSTEM.solve(
        {name: value[7] for name, value in times.items()},
        {name: np.ravel(value)[7 * (np.size(value) > 1)] for name, value in run.items()},
    )
    assert float(one.outputs["epoch_s"]) == pytest.approx(float(found.outputs["epoch_s"][7]), rel=1e-12)
    assert len(found.to_frame()) == size


def test_draws_may_lead() -> None:
    found = SYSTEM.solve({"compute": np.array([[1.0], [2.0]]), "push": 0.1}, {**RUN, "n_nodes": np.array([1, 4, 8])})
    assert found.outputs["epoch_s"].shape == (2, 3)
    assert (found.outputs["epoch_s"][1] > found.outputs["epoch_s"][0]).all()


def test_more_workers_never_slow_and_the_server_sets_the_limit() -> None:
    found = SYSTEM.solve({"compute": 1.0, "push": 0.05}, {**RUN, "n_nodes": np.arange(1, 400)}).outputs
    assert (np.diff(found["epoch_s"]) <= 1e-9).all()
    assert float(found["epoch_s"][-1]) == pytest.approx(2000 * 0.05, rel=1e-9)


@pytest.mark.parametrize("name", ["parameter-server", "stale-synchronous"])
@pytest.mark.parametrize("slow_share", [0.0, 0.3])
def test_many_configurations_at_once(name: str, slow_share: float) -> None:
    """Up to 500 workers, each as if it were asked alone."""
    rng = np.random.default_rng(1)
    nodes, gpus = rng.integers(1, 64, 10**4), rng.integers(1, 9, 10**4)
    run = {
        **RUN,
        "n_nodes": nodes,
        "n_gpus_per_node": gpus,
        "n_slow_workers": np.floor(slow_share * nodes * gpus),
        "slow_factor": 1.5,
    }
    times = {"compute": rng.uniform(0.1, 1.0, 10**4), "compute_std": 0.05, "push": rng.uniform(0.001, 0.05, 10**4)}
    asked = {**run, "staleness_bound": rng.integers(0, 4, 10**4)}
    found = find_system(name).solve(times, asked)
    assert np.isfinite(found.outputs["epoch_s"]).all()
    for row in (0, 17, 9_999):
        alone = {key: np.atleast_1d(value)[row if np.size(value) > 1 else 0] for key, value in asked.items()}
        one = {key: np.atleast_1d(value)[row if np.size(value) > 1 else 0] for key, value in times.items()}
        np.testing.assert_allclose(find_system(name).solve(one, alone).outputs["epoch_s"], found.outputs["epoch_s"][row], rtol=1e-6)


def test_what_cannot_run() -> None:
    with pytest.raises(UsageError, match="no time of 'compute'"):
        SYSTEM.solve({"push": 0.1}, RUN)
    with pytest.raises(DataError, match="slow workers"):
        SYSTEM.solve({"compute": 1.0}, {**RUN, "n_slow_workers": 2})
