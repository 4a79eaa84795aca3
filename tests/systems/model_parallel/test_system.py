"""As a system it gives what the equations give, and refuses what cannot run."""

from __future__ import annotations

import numpy as np
import pytest
from partition_examples import MNIST, cluster

from mlperf.core.errors import DataError
from mlperf.systems.base.system import System
from mlperf.systems.model_parallel.costs import server_sync_s
from mlperf.systems.model_parallel.epoch import epoch_s, period_s, sample_times
from mlperf.systems.model_parallel.system import MODEL_PARALLEL
from mlperf.systems.registry import find_system

RUN = {"n_nodes": 20, "n_gpus_per_node": 1, "subbatch_size": 100, "dataset_size": 10_000}


def test_it_is_a_system() -> None:
    assert isinstance(MODEL_PARALLEL, System)
    assert find_system("model-parallel") is MODEL_PARALLEL


@pytest.mark.parametrize("synchronous", [False, True])
def test_it_is_the_equations(synchronous: bool) -> None:
    machine, n_workers = cluster(), 2
    plan = sample_times(MNIST, machine, [2, 2, 2, 1], [1, 1, 1, 2], 100)
    byte_s = machine.value_bytes / machine.bandwidth_bytes_per_s
    times = {
        name: np.array(getattr(plan, f"{name}_s").sum()) for name in ("forward", "backward", "update", "activations", "errors")
    } | {
        "copies": np.array(100 * plan.copies_s.sum()),
        "worker_link": np.array(2 * (machine.latency_s[0] + MNIST.all_params / n_workers * byte_s)),
        "server_link": np.array(2 * MNIST.all_params * byte_s),
        "server_apply": np.array(MNIST.all_params * machine.add_s),
    }
    replicas, servers = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.0, 1.0, 4.0, 4.0])
    settings = {
        "n_replicas": replicas,
        "n_servers": servers,
        "n_workers": np.array(2.0),
        "synchronous": np.array(float(synchronous)),
    }
    found = MODEL_PARALLEL.solve(times, {**RUN, **settings})
    sync = server_sync_s(MNIST.all_params, n_workers, replicas, servers, machine)
    period = period_s(np.array(plan.sample_s), sync, 100, synchronous=synchronous)
    np.testing.assert_allclose(found.outputs["epoch_s"], epoch_s(period, replicas, 100, 10_000), rtol=1e-12)
    np.testing.assert_allclose(found.outputs["mean_staleness"], 0.0 if synchronous else replicas - 1)
    np.testing.assert_allclose(found.outputs["mean_minibatch_size"], 100 * (replicas if synchronous else 1))
    np.testing.assert_allclose(sum(found.breakdown_s["period"].values()), found.outputs["period_s"], rtol=1e-12)


def test_what_cannot_run_is_refused() -> None:
    times = {"forward": np.array(1e-3), "backward": np.array(1e-3)}
    with pytest.raises(DataError, match="got 2 replicas without a server"):
        MODEL_PARALLEL.solve(times, {**RUN, "n_replicas": 2})
    with pytest.raises(DataError, match="got 21 machines for replicas and servers, expected at most 20 nodes"):
        MODEL_PARALLEL.solve(times, {**RUN, "n_replicas": 4, "n_workers": 5, "n_servers": 1})


def test_draws_lead() -> None:
    times = {"forward": np.full((3, 1), 1e-3), "backward": np.full((3, 1), 2e-3)}
    found = MODEL_PARALLEL.solve(times, {**RUN, "subbatch_size": np.array([10.0, 100.0])})
    assert found.outputs["epoch_s"].shape == (3, 2)
    np.testing.assert_allclose(found.outputs["epoch_s"], 30.0)
