"""The system meets the equations of the optimizer when it is given their times, and an event-by-event exchange."""

from __future__ import annotations

import numpy as np
import pytest
from partition_networks import CLUSTER, IMAGENET, MNIST

from mlperf.core.errors import DataError
from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.systems.base.system import refusals
from mlperf.systems.model_parallel.epoch import sample_times
from mlperf.systems.model_parallel.layers import LayerTable
from mlperf.systems.registry import find_system

SYSTEM = find_system("model-parallel")


def run_of(**changes: float) -> dict[str, np.ndarray]:
    run = {"n_nodes": 20, "n_gpus_per_node": 1, "subbatch_size": 100, "dataset_size": 10_000, **changes}
    return {name: np.asarray(float(value)) for name, value in run.items()}


@pytest.mark.parametrize(("table", "machines"), [(MNIST, 20), (IMAGENET, 100), (IMAGENET, 20)])
@pytest.mark.parametrize("synchronous", [False, True])
def test_times_of_a_plan_give_its_epoch(table: LayerTable, machines: int, synchronous: bool) -> None:
    best = optimise(table, CLUSTER, PartitionJob(10_000, 100, synchronous), Limits(machines)).best
    parts = sample_times(table, CLUSTER, best.stripes, best.copies, 100)
    times = {name: getattr(parts, f"{name}_s").sum() for name in ("forward", "backward", "update", "activations", "errors")}
    byte_s, par = 4e-9, table.all_params
    times |= {
        "replica_sync": 100 * parts.copies_s.sum(),
        "exchange": 2 * (5e-5 + par / best.n_workers * byte_s),
        "push": 2 * par * byte_s,
        "apply": par * CLUSTER.add_s,
    }
    shape = {name: getattr(best, name) for name in ("n_replicas", "n_servers", "n_workers")}
    found = SYSTEM.solve(times, run_of(n_nodes=machines, synchronous=synchronous, **shape))
    assert float(found.outputs["epoch_s"]) == pytest.approx(best.epoch_s, rel=1e-9)
    assert float(found.outputs["sample_s"]) == pytest.approx(best.sample_s, rel=1e-9)
    for parts_s in found.breakdown_s.values():
        assert float(sum(parts_s.values())) == pytest.approx(best.period_s, rel=1e-9)


def test_asynchronous_replicas_at_a_server_by_events() -> None:
    """Three replicas overlap their own exchange with the next mini-batch at one server: the slower of both sets the pace."""
    for compute, service in ((0.9, 0.1), (0.2, 0.1)):
        starts, server_free, n_updates = [0.0] * 3, 0.0, 0
        exchanged = [0.0] * 3
        while n_updates < 3000:
            at = int(np.argmin(starts))
            ready = max(starts[at] + compute, exchanged[at])
            server_free = max(server_free, ready) + service
            exchanged[at], starts[at] = server_free, ready
            n_updates += 1
        period = max(exchanged) / (n_updates / 3)
        found = SYSTEM.solve({"forward": compute / 100, "push": service}, run_of(n_replicas=3, n_servers=1))
        assert float(found.outputs["period_s"]) == pytest.approx(period, rel=0.01)
        assert float(found.outputs["mean_staleness"]) == 5.0
        assert bool(found.flags["exchange_bound"]) is (compute < 0.3)


def test_configurations_that_cannot_run_are_refused_with_the_reason() -> None:
    told = refusals(SYSTEM, run_of(n_replicas=3, n_workers=7, n_gpus_per_node=2))
    assert [reason for reason, refused in told.items() if refused] == list(told)
    for changes, named in (({"n_workers": 21}, "machines"), ({"n_replicas": 2}, "server"), ({"n_gpus_per_node": 8}, "GPUs")):
        with pytest.raises(DataError, match=named):
            SYSTEM.solve({"forward": 0.1}, run_of(**changes))


def test_synchronous_replicas_add_up_one_update() -> None:
    found = SYSTEM.solve({"forward": 0.01, "exchange": 0.3}, run_of(n_replicas=4, n_servers=2, synchronous=1))
    assert float(found.outputs["mean_minibatch_size"]) == 400.0
    assert float(found.outputs["period_s"]) == pytest.approx(1.3)
    assert float(found.outputs["mean_staleness"]) == 0.0
