"""Other hardware against worked examples; elasticities against Euler's theorem."""

from __future__ import annotations

import pytest
from partition_networks import CLUSTER, IMAGENET, MNIST

from mlperf.core.errors import UsageError
from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.planning.partition.what_ifs import elasticities, kept_epoch_s, what_if_table
from mlperf.systems.model_parallel.epoch import sample_times

JOB = PartitionJob(10_000, 100)
NAMES = ("rdma", "arithmetic", "rdma+arithmetic", "no-cache-miss")
WORKED = {
    20: [(9.935, (20, 1, 0)), (3.575, (20, 1, 0)), (1.329, (20, 1, 0)), (11.951, (1, 16, 4))],
    100: [(2.042, (5, 19, 5)), (0.733, (1, 49, 51)), (0.307, (4, 17, 32)), (2.304, (1, 83, 17))],
}


@pytest.mark.parametrize("machines", WORKED)
def test_worked_examples(machines: int) -> None:
    limits = Limits(machines)
    best = optimise(IMAGENET, CLUSTER, JOB, limits).best
    threads = tuple(sample_times(IMAGENET, CLUSTER, best.stripes, best.copies, 100).n_threads.tolist())
    found = what_if_table(IMAGENET, CLUSTER, JOB, limits, best, threads, NAMES)
    for row, (epoch, shape) in zip(found.itertuples(), WORKED[machines], strict=True):
        assert row.epoch_s == pytest.approx(epoch, abs=6e-4)
        assert (row.n_workers, row.n_replicas, row.n_servers) == shape
        assert row.kept_epoch_s >= row.epoch_s * (1 - 1e-12)


def test_an_unknown_what_if_names_the_known() -> None:
    best = optimise(MNIST, CLUSTER, JOB, Limits(2)).best
    with pytest.raises(UsageError, match="rdma"):
        what_if_table(MNIST, CLUSTER, JOB, Limits(2), best, (1,) * 4, ("rmda",))


@pytest.mark.parametrize(("table", "machines"), [(IMAGENET, 20), (IMAGENET, 100), (MNIST, 20), (MNIST, 5)])
def test_elasticities_add_up_to_one(table, machines: int) -> None:
    """All times twice as long make the epoch twice as long."""
    best = optimise(table, CLUSTER, JOB, Limits(machines)).best
    threads = tuple(sample_times(table, CLUSTER, best.stripes, best.copies, 100).n_threads.tolist())
    assert kept_epoch_s(table, CLUSTER, JOB, best, threads) == pytest.approx(best.epoch_s, rel=1e-9)
    found = elasticities(table, CLUSTER, JOB, best, threads)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-6)
    assert min(found.values()) >= -1e-9
