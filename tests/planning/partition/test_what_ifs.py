"""Other hardware against worked examples; elasticities against Euler's theorem."""

from __future__ import annotations

import numpy as np
import pytest
from partition_networks import CLUSTER, IMAGENET, MNIST, random_machine, random_network

from mlperf.core.errors import UsageError
from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.planning.partition.plan import held_of
from mlperf.planning.partition.what_ifs import elasticities, kept_epoch_s, tenths_lower_s, what_if_table
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


@pytest.mark.parametrize("seed", range(12))
def test_planning_anew_is_no_slower_than_the_plan_kept(seed: int) -> None:
    """Where the memory binds, too: there the search is not exact."""
    rng = np.random.default_rng(seed)
    table, machine = random_network(rng, 2), random_machine(rng)
    least, most = (sum(held_of(table, machine, [min(p, int(rows)) for rows in table.rows])) for p in (5, 1))
    limits = Limits(5, memory_bytes=least + 0.4 * (most - least))
    best = optimise(table, machine, JOB, limits).best
    threads = tuple(sample_times(table, machine, best.stripes, best.copies, 100).n_threads.tolist())
    found = what_if_table(table, machine, JOB, limits, best, threads, NAMES)
    assert (found["epoch_s"] <= found["kept_epoch_s"] * (1 + 1e-12)).all()


def test_a_tenth_lower_is_worked_out_anew() -> None:
    """The exchange with servers, just above the computing, is no longer the slowest part when it is a tenth faster."""
    best, threads = optimise(MNIST, CLUSTER, JOB, Limits(20)).best, (16,) * 4
    larger = PartitionJob(10_000, 165)
    epoch = kept_epoch_s(MNIST, CLUSTER, larger, best, threads)
    compute = 10_000 / best.n_replicas * best.sample_s
    assert 0.95 * epoch < compute < epoch
    found = tenths_lower_s(MNIST, CLUSTER, larger, best, threads)
    assert elasticities(MNIST, CLUSTER, larger, best, threads)["byte on a link"] > 0.9
    assert found["byte on a link"] == pytest.approx(compute)
    assert found["activation"] == epoch


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
