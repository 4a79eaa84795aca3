"""The optimizer against trying everything, published shapes, and the numbers of the example cluster."""

from __future__ import annotations

import numpy as np
import pytest
from partition_examples import IMAGENET100, MNIST, cluster, network, random_instance

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.epoch import sample_times
from mlperf.systems.model_parallel.layers import FC, LayerTable
from mlperf.systems.model_parallel.volumes import remote_values

JOB = PartitionJob(10_000, 100)
NO_CACHE_EFFECT = {"muladd_s": np.array([2e-10, 2e-10])}
RDMA = {"latency_s": 2e-6 + 1e-7 * np.arange(16), "bandwidth_bytes_per_s": 4.5e9}
TEN_TIMES = {"muladd_s": np.array([2e-11, 6e-11]), "act_s": 2e-10, "err_s": 2e-10}


def all_taus(
    table: LayerTable, constants: Constants, n_workers: int, minibatch_size: int, memory_bytes: float = np.inf
) -> FloatArray:
    """tau of every plan (P, R, H) of all layers on n workers, written out from the equations; infinite beyond the memory."""
    byte_s = constants.value_bytes / constants.bandwidth_bytes_per_s
    n_cores, n_layers = len(constants.interference), table.n_layers
    plans = [
        np.array(
            [
                (p, r, h)
                for p in range(1, min(n_workers, int(table.rows[layer])) + 1)
                for r in range(1, n_workers // p + 1)
                for h in range(1, n_cores + 1)
            ]
        ).T
        for layer in range(n_layers)
    ]
    total: FloatArray = np.zeros([len(each[0]) for each in plans])
    filled = np.zeros(total.shape)
    for layer, (p, r, h) in enumerate(plans):
        rows, fc = table.rows[layer], table.kind[layer] == FC
        part = np.ceil(rows / p) / rows
        neurons = rows * table.per[layer] * part
        held = table.n_params[layer] * (part if fc else 1.0)
        size = constants.value_bytes * (held + neurons)
        hit = np.minimum(1.0, constants.cache_bytes / size)
        muladd = hit * constants.muladd_s[0] + (1.0 - hit) * constants.muladd_s[1]
        own = table.n_connections[layer] * part
        above = table.n_connections[layer + 1] * part if layer + 1 < n_layers else 0.0
        work = muladd * (own + above + own * (table.n_params[layer] > 0))
        work = work + (constants.act_s + constants.err_s) * neurons
        holders = r if fc else r * p
        ring = 2 * (holders - 1) * constants.latency_s[0] + 2 * (holders - 1) / holders * held * byte_s
        node = constants.interference[h - 1] * work / (r * h) + np.where(held > 0, ring, 0.0) / minibatch_size
        along = [-1 if at == layer else 1 for at in range(n_layers)]
        total, filled = total + node.reshape(along), filled + size.reshape(along)
    for low in range(n_layers - 1):
        (p_l, r_l, h_l), (p_h, r_h, h_h) = (each[:, :, None] for each in plans[low : low + 2])
        p_h, r_h, h_h = p_h.T, r_h.T, h_h.T
        sent = remote_values(table, low, low + 1, p_l, r_l, p_h, r_h)
        returned = remote_values(table, low + 1, low, p_h.T, r_h.T, p_l.T, r_l.T).T
        forward = np.where(sent > 0, constants.latency_s[h_h - 1] + sent * byte_s * h_h, 0.0) / (r_h * h_h)
        backward = np.where(returned > 0, constants.latency_s[h_l - 1] + returned * byte_s * h_l, 0.0) / (r_l * h_l)
        shape = [1] * n_layers
        shape[low : low + 2] = (forward + backward).shape
        total = total + (forward + backward).reshape(shape)
    return np.where(filled <= memory_bytes, total, np.inf)


def least_epoch(table: LayerTable, constants: Constants, machines: int, job: PartitionJob, memory_bytes: float = np.inf) -> float:
    """Every plan on every n, A and S."""
    batch, best = job.minibatch_size, np.inf
    byte_s = constants.value_bytes / constants.bandwidth_bytes_per_s
    for n_workers in range(1, machines + 1):
        tau = float(all_taus(table, constants, n_workers, int(batch), memory_bytes).min())
        for n_replicas in range(1, machines // n_workers + 1):
            for n_servers in range(machines - n_replicas * n_workers + 1):
                if n_replicas > 1 and not n_servers:
                    continue
                sync = 0.0
                if n_servers:
                    served = n_replicas * table.all_params / n_servers
                    pushed = 2 * (constants.latency_s[0] + table.all_params / n_workers * byte_s)
                    sync = max(pushed, served * (2 * byte_s + constants.add_s))
                period = batch * tau + sync if job.synchronous else max(batch * tau, sync)
                best = min(best, job.dataset_size / (n_replicas * batch) * period)
    return best


def check_instances(seeds: range) -> None:
    for seed in seeds:
        table, constants, machines, batch, synchronous = random_instance(np.random.default_rng(seed))
        job = PartitionJob(10_000, batch, synchronous)
        found = optimise(table, constants, job, Limits(machines))
        truth = least_epoch(table, constants, machines, job)
        assert found.best.epoch_s == pytest.approx(truth, rel=1e-12), seed
        assert found.gap == 0.0
        plan = sample_times(table, constants, found.best.stripes, found.best.copies, batch)
        assert plan.sample_s == pytest.approx(found.best.sample_s, rel=1e-9)


def test_the_optimum_is_that_of_trying_everything() -> None:
    check_instances(range(60))


@pytest.mark.slow
def test_the_optimum_is_that_of_trying_everything_on_many_more() -> None:
    check_instances(range(60, 400))


@pytest.mark.parametrize(
    ("table", "machines", "epoch_s", "n_workers", "n_replicas", "n_servers"),
    [
        (IMAGENET100, 5, 40.384179, 5, 1, 0),
        (IMAGENET100, 10, 21.299947, 10, 1, 0),
        (IMAGENET100, 20, 12.181314, 20, 1, 0),
        (IMAGENET100, 100, 2.415781, 6, 14, 16),
        (MNIST, 5, 1.252972, 5, 1, 0),
        (MNIST, 10, 0.971030, 10, 1, 0),
        (MNIST, 20, 0.510931, 1, 10, 10),
    ],
)
def test_example_cluster(table: LayerTable, machines: int, epoch_s: float, n_workers: int, n_replicas: int, n_servers: int) -> None:
    best = optimise(table, cluster(), JOB, Limits(machines)).best
    assert best.epoch_s == pytest.approx(epoch_s, abs=5e-7)
    assert (best.n_workers, best.n_replicas, best.n_servers) == (n_workers, n_replicas, n_servers)


def test_convolutions_are_copied_and_fully_connected_layers_divided() -> None:
    for machines, last in ((5, (2, 2)), (10, (5, 2)), (20, (6, 3))):
        best = optimise(IMAGENET100, cluster(), JOB, Limits(machines)).best
        assert list(zip(best.stripes, best.copies, strict=True)) == [(1, machines)] * 7 + [(machines, 1)] * 2 + [last]
        times = sample_times(IMAGENET100, cluster(), best.stripes, best.copies, 100)
        assert times.n_threads.tolist() == [16] * 10


def test_synchronous_exchange_prefers_one_replica() -> None:
    best = optimise(MNIST, cluster(), PartitionJob(10_000, 100, synchronous=True), Limits(20)).best
    assert best.epoch_s == pytest.approx(0.786365, abs=5e-7)
    assert best.n_workers == 20


@pytest.mark.parametrize(
    ("changes", "machines", "epoch_s", "split"),
    [
        (RDMA, 20, 9.935, (20, 1, 0)),
        (RDMA, 100, 2.042, (5, 19, 5)),
        (TEN_TIMES, 20, 3.575, (20, 1, 0)),
        (TEN_TIMES, 100, 0.733, (1, 49, 51)),
        ({**RDMA, **TEN_TIMES}, 20, 1.329, (20, 1, 0)),
        ({**RDMA, **TEN_TIMES}, 100, 0.307, (4, 17, 32)),
        (NO_CACHE_EFFECT, 20, 11.951, (1, 16, 4)),
        (NO_CACHE_EFFECT, 100, 2.304, (1, 83, 17)),
    ],
)
def test_other_hardware(changes: dict[str, FloatArray], machines: int, epoch_s: float, split: tuple[int, int, int]) -> None:
    best = optimise(IMAGENET100, cluster(**changes), JOB, Limits(machines)).best
    assert best.epoch_s == pytest.approx(epoch_s, abs=6e-4)
    assert (best.n_workers, best.n_replicas, best.n_servers) == split


def test_more_of_anything_never_hurts() -> None:
    table = network("two", 20, 3, [("conv", 8, 3, 1, 1), ("fc", 300), ("fc", 10)])
    epochs = [optimise(table, cluster(), JOB, Limits(machines)).best.epoch_s for machines in range(1, 14)]
    assert (np.diff(epochs) <= 1e-12).all()
    for faster in ({"bandwidth_bytes_per_s": 2e9}, {"muladd_s": np.array([1e-10, 3e-10])}, {"latency_s": np.full(16, 1e-6)}):
        assert optimise(table, cluster(**faster), JOB, Limits(8)).best.epoch_s <= epochs[7] * (1 + 1e-12)


def test_a_free_network_leaves_the_costs_of_the_layers() -> None:
    free = cluster(1, bandwidth_bytes_per_s=1e30, latency_s=np.zeros(1), add_s=0.0)
    best = optimise(MNIST, free, JOB, Limits(4)).best
    one = sample_times(MNIST, free, best.stripes, best.copies, 100)
    assert best.sample_s == pytest.approx(float((one.forward_s + one.backward_s + one.update_s).sum()), rel=1e-12)


def test_limits_are_kept() -> None:
    limits = Limits(20, replicas=4, minibatch=(200.0, 300.0))
    best = optimise(MNIST, cluster(), JOB, limits).best
    assert 2 <= best.n_replicas <= 3
    assert optimise(MNIST, cluster(), JOB, Limits(20, staleness=0.0)).best.n_replicas == 1
    with pytest.raises(DataError, match="window"):
        optimise(MNIST, cluster(), JOB, Limits(20, minibatch=(1.0, 2.0)))
    with pytest.raises(DataError, match="fits"):
        optimise(MNIST, cluster(), JOB, Limits(3, memory_bytes=100.0))


def check_memory(seeds: range) -> None:
    """The plan fits, and the best that fits is no better than the gap says."""
    gaps = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        table, constants, machines, batch, synchronous = random_instance(rng)
        job = PartitionJob(10_000, batch, synchronous)
        memory = 4.0 * (table.all_params + table.n_neurons.sum()) * rng.uniform(0.3, 1.0)
        truth = least_epoch(table, constants, machines, job, memory)
        try:
            found = optimise(table, constants, job, Limits(machines, memory_bytes=memory))
        except DataError:
            assert np.isinf(truth), seed
            continue
        assert found.best.epoch_s >= truth * (1.0 - 1e-12), seed
        assert found.best.epoch_s <= truth * (1.0 + found.gap + 1e-9), seed
        gaps.append(found.gap)
    assert np.median(gaps) < 0.05


def test_what_does_not_fit_a_machine_is_divided_within_its_memory() -> None:
    check_memory(range(25))


@pytest.mark.slow
def test_memory_on_many_more() -> None:
    check_memory(range(25, 150))
