"""SPRINT with servers and with replicas: where the parts coincide with SPRINT's own, so do the results."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.system import System
from mlperf.systems.data_parallel.composed import SPRINT_REPLICAS, SPRINT_SERVER, ReplicaThreads
from mlperf.systems.registry import find_system
from mlperf.systems.sprint.system import SPRINT

TIMES = {"fetch_weights": 0.01, "update_gradient": 0.004, "sum_gradient": 0.006, "update_weights": 0.012, "gpu_work_std": 0.02}
RUN = {
    "n_nodes": np.array([1, 2, 8, 16]),
    "n_gpus_per_node": np.array([4, 4, 8, 4]),
    "subbatch_size": np.array([4, 8, 8, 5]),
    "dataset_size": 1_281_167,
}
LINKS = {"gradient_bytes": 2e8, "latency_s": 1e-4, "bandwidth_bytes_per_s": 5e9}


def test_both_are_systems() -> None:
    for system in (SPRINT_SERVER, SPRINT_REPLICAS):
        assert isinstance(system, System)
        assert find_system(system.name) is system


def test_servers_stand_in_for_the_allreduce() -> None:
    """The same as SPRINT with an all-reduce of 2 (latency + max(B, M B / S) / bandwidth) and M sums of the servers."""
    run = {**RUN, **LINKS, "n_servers": 4.0}
    found = SPRINT_SERVER.solve({**TIMES, "compute_gradient": 0.4, "apply": 0.02}, run)
    nodes = RUN["n_nodes"]
    exchange = 2 * (1e-4 + 2e8 * np.maximum(1.0, nodes / 4) / 5e9) + nodes * 0.02 / 4
    own = SPRINT.solve({**TIMES, "compute_gradient": 0.4, "allreduce": exchange}, RUN)
    assert found.outputs["exchange_s"] == pytest.approx(exchange)
    for name in SPRINT.outputs:
        np.testing.assert_allclose(found.outputs[name], own.outputs[name], rtol=1e-12)
    assert found.flags["exchange_assumed"].all()


def test_more_servers_help_until_the_nodes_links_are_full() -> None:
    run = {**LINKS, "n_nodes": 16, "n_gpus_per_node": 4, "subbatch_size": 4, "dataset_size": 1e6}
    servers = np.array([1.0, 2.0, 8.0, 16.0, 64.0])
    found = SPRINT_SERVER.solve({**TIMES, "compute_gradient": 0.4}, {**run, "n_servers": servers}).outputs["exchange_s"]
    assert (np.diff(found[:4]) < 0.0).all()
    assert found[4] == found[3]
    with pytest.raises(UsageError, match=r"neither a time of 'allreduce' nor the run's 'latency_s'"):
        SPRINT_SERVER.solve({"compute_gradient": 0.4}, {**RUN, "gradient_bytes": 1e6})


def test_replicas_of_one_gpu_are_gpus() -> None:
    """Gradient time is sub-batch times sample time, and the rest is SPRINT."""
    times = {**TIMES, "allreduce": 0.08}
    own = SPRINT.solve({**times, "compute_gradient": RUN["subbatch_size"] * 0.05}, RUN)
    found = SPRINT_REPLICAS.solve({**times, "sample": 0.05}, RUN)
    for name in SPRINT.outputs:
        np.testing.assert_array_equal(found.outputs[name], own.outputs[name])


def test_replicas_of_several_gpus_are_fewer_and_faster_threads() -> None:
    times = {**TIMES, "allreduce": 0.08}
    found = SPRINT_REPLICAS.solve({**times, "sample": 0.03}, {**RUN, "gpus_per_replica": 2.0})
    fewer = {**RUN, "n_gpus_per_node": RUN["n_gpus_per_node"] // 2}
    own = SPRINT.solve({**times, "compute_gradient": RUN["subbatch_size"] * 0.03}, fewer)
    np.testing.assert_array_equal(found.outputs["epoch_s"], own.outputs["epoch_s"])
    np.testing.assert_array_equal(found.outputs["mean_minibatch_size"], own.outputs["mean_minibatch_size"])
    with pytest.raises(DataError, match="n_gpus_per_node must be a multiple of gpus_per_replica"):
        SPRINT_REPLICAS.solve({**times, "sample": 0.03}, {**RUN, "gpus_per_replica": 3.0})
    with pytest.raises(UsageError, match="gpu_work_std"):
        SPRINT_REPLICAS.solve({**times, "sample": 0.03, "sample_std": 0.01}, RUN)


def test_parts_compose() -> None:
    """Replicas as threads and servers for the exchange at once."""
    both = ReplicaThreads(SPRINT_SERVER, "both")
    found = both.solve({**TIMES, "sample": 0.05}, {**RUN, **LINKS})
    server = SPRINT_SERVER.solve({**TIMES, "compute_gradient": RUN["subbatch_size"] * 0.05}, {**RUN, **LINKS})
    np.testing.assert_array_equal(found.outputs["epoch_s"], server.outputs["epoch_s"])
