"""The optimizer is exact: against every configuration there is, and against worked examples."""

from __future__ import annotations

import dataclasses
import itertools
import math
from functools import lru_cache

import numpy as np
import pytest
from partition_networks import CLUSTER, IMAGENET, MNIST, period_behind_servers_s, random_machine, random_network

from mlperf.core.errors import DataError
from mlperf.features.network.partition import layer_table
from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.epoch import sample_times
from mlperf.systems.model_parallel.layers import LayerTable
from mlperf.systems.model_parallel.volumes import remote_values

pytestmark = pytest.mark.slow

JOB = PartitionJob(10_000, 100)


def held_by(table: LayerTable, machine: Constants, layer: int, stripes: int) -> float:
    """Bytes of the largest segment."""
    part = math.ceil(int(table.rows[layer]) / stripes) / int(table.rows[layer])
    params = float(table.n_params[layer]) * (part if table.kind[layer] == "fc" else 1.0)
    return machine.value_bytes * (params + float(table.n_neurons[layer]) * part)


def brute_force(table: LayerTable, machine: Constants, job: PartitionJob, limits: Limits) -> float:
    """The least epoch time of all stripes, copies, threads, replicas and servers, by plain loops."""
    n_layers, m = table.n_layers, limits.machines
    byte_s = machine.value_bytes / machine.bandwidth_bytes_per_s
    states = [
        [(p, r) for p in range(1, min(m, int(table.rows[layer])) + 1) for r in range(1, m // p + 1)] for layer in range(n_layers)
    ]

    @lru_cache(None)
    def crossing(source: int, target: int, one: tuple[int, int], two: tuple[int, int]) -> float:
        low, high = (np.array([[value]]) for value in one), (np.array([[value]]) for value in two)
        return float(remote_values(table, source, target, *low, *high)[0, 0])

    @lru_cache(None)
    def own(layer: int, state: tuple[int, int], values_in: float, values_back: float) -> float:
        p, r = state
        part = math.ceil(int(table.rows[layer]) / p) / int(table.rows[layer])
        neurons = float(table.n_neurons[layer])
        held = float(table.n_params[layer]) * (part if table.kind[layer] == "fc" else 1.0)
        size = machine.value_bytes * (held + neurons * part)
        hit = min(1.0, machine.cache_bytes / size)
        muladd = hit * machine.muladd_s[0] + (1 - hit) * machine.muladd_s[-1]
        conn = float(table.n_connections[layer])
        above = float(table.n_connections[layer + 1]) if layer + 1 < n_layers else 0.0
        work = part * (muladd * (conn + above + conn * (held > 0)) + neurons * (machine.act_s + machine.err_s))
        members = r if table.kind[layer] == "fc" else r * p
        ring = 0.0
        if held and members > 1:
            ring = 2 * (members - 1) * (machine.latency_s[0] + held * byte_s / members)
        times = []
        for h in range(1, machine.n_cores + 1):
            message = sum((machine.latency_s[h - 1] + values * byte_s * h) for values in (values_in, values_back) if values > 0)
            times.append((machine.interference[h - 1] * work + message) / (r * h))
        return float(min(times)) + ring / job.minibatch_size

    least = np.full(m + 1, np.inf)
    for plan in itertools.product(*states):
        if sum(held_by(table, machine, layer, p) for layer, (p, _) in enumerate(plan)) > limits.memory_bytes:
            continue
        tau = 0.0
        for layer, state in enumerate(plan):
            values_in = crossing(layer - 1, layer, plan[layer - 1], state) if layer else 0.0
            values_back = crossing(layer + 1, layer, plan[layer + 1], state) if layer + 1 < n_layers else 0.0
            tau += own(layer, state, values_in, values_back)
        n = max(p * r for p, r in plan)
        least[n] = min(least[n], tau)
    least = np.minimum.accumulate(least)
    best = np.inf
    for n, a, s in itertools.product(range(1, m + 1), range(1, m + 1), range(m)):
        if a * n + s > m or (a > 1 and s == 0) or (a == 1 and s > 0):
            continue
        compute = job.minibatch_size * least[n]
        period = period_behind_servers_s(table.all_params, machine, a, n, s, compute, synchronous=job.synchronous)
        best = min(best, job.dataset_size / (a * job.minibatch_size) * period)
    return float(best)


@pytest.mark.parametrize("seed", [*range(40), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(40, 200))])
def test_no_configuration_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_layers = int(rng.integers(1, 4))
    table, machine = random_network(rng, n_layers), random_machine(rng)
    job = PartitionJob(1000, float(rng.choice([1, 10, 100])), bool(seed % 2))
    limits = Limits(int(rng.integers(1, 6 if n_layers > 2 else 8)))
    found = optimise(table, machine, job, limits)
    assert found.best.epoch_s == pytest.approx(brute_force(table, machine, job, limits), rel=1e-12)
    assert found.gap == 0.0
    again = sample_times(table, machine, found.best.stripes, found.best.copies, job.minibatch_size)
    assert again.sample_s == pytest.approx(found.best.sample_s, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_no_plan_of_a_recurrence_is_better(seed: int) -> None:
    """Every stripe and copy of two recurrent layers and the one above, by the sum over layers of `sample_times`."""
    rng = np.random.default_rng(3000 + seed)
    first, second = (int(each) for each in rng.integers(3, 30, 2))
    layers = (
        Layer("first", "recurrent", n_maps=first, cell=str(rng.choice(["rnn", "gru", "lstm"]))),
        Layer("second", "recurrent", n_maps=second),
        Layer("last", "select_token"),
        Layer("out", "fc", n_maps=4),
    )
    table, machine = layer_table(CnnSpec("sequence", 5, (int(rng.integers(2, 12)), 1), layers)), random_machine(rng)
    most = 4
    found = optimise(table, machine, PartitionJob(1000, 10.0, synchronous=True), Limits(most, replicas=1))
    states = [[(p, r) for p in range(1, min(most, int(rows)) + 1) for r in range(1, most // p + 1)] for rows in table.rows.tolist()]
    least = min(sample_times(table, machine, *zip(*plan, strict=True), 10.0).sample_s for plan in itertools.product(*states))
    assert found.best.sample_s == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_with_little_memory_the_gap_is_a_bound(seed: int) -> None:
    """The plan fits, and the optimum is not further below it than the gap says."""
    rng = np.random.default_rng(1000 + seed)
    table, machine = random_network(rng, 2), random_machine(rng)
    job, most = PartitionJob(1000, 10, bool(seed % 2)), 6
    ends = [sum(held_by(table, machine, layer, min(p, int(table.rows[layer]))) for layer in (0, 1)) for p in (1, most)]
    limits = Limits(most, memory_bytes=ends[1] + rng.uniform(0.05, 0.9) * (ends[0] - ends[1]))
    found, least = optimise(table, machine, job, limits), brute_force(table, machine, job, limits)
    held = sum(held_by(table, machine, layer, found.best.stripes[layer]) for layer in (0, 1))
    assert held <= limits.memory_bytes * (1 + 1e-12)
    assert least * (1 - 1e-12) <= found.best.epoch_s <= least * (1 + found.gap) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_runners_up_are_the_next_best(seed: int) -> None:
    """Every number of workers and replicas by itself, servers all the rest."""
    rng = np.random.default_rng(2000 + seed)
    table, machine, job = random_network(rng, 3), random_machine(rng), PartitionJob(1000, 10)
    found = optimise(table, machine, job, Limits(12), shapes=4)
    epochs = [each.epoch_s for each in (found.best, *found.others)][:4]
    each_count = [
        optimise(table, machine, job, Limits(12, replicas=a, minibatch=(10 * a, 10 * a))).best.epoch_s for a in range(1, 12)
    ]
    assert epochs == sorted(epochs)
    assert epochs[0] == pytest.approx(min(each_count), rel=1e-12)
    assert all(any(math.isclose(low, one, rel_tol=1e-12) for one in epochs) or low >= epochs[3] for low in each_count)


@pytest.mark.parametrize("replicas", [1, 2])
def test_runners_up_of_one_replica_may_use_most_machines(replicas: int) -> None:
    """The next best of one replica on M machines has M - 1 workers, not (M - 1) / 2."""
    found = optimise(IMAGENET, CLUSTER, JOB, Limits(10, replicas=replicas), shapes=6)
    alone = {each.n_workers: each.epoch_s for each in (found.best, *found.others) if each.n_replicas == 1}
    assert {10, 9, 8} <= alone.keys()
    for n in (9, 8):
        assert alone[n] == pytest.approx(optimise(IMAGENET, CLUSTER, JOB, Limits(n, replicas=1)).best.epoch_s, rel=1e-12)


EXAMPLES = [
    (IMAGENET, 5, 40.384179, (5, 1, 0)),
    (IMAGENET, 10, 21.299947, (10, 1, 0)),
    (IMAGENET, 20, 12.181314, (20, 1, 0)),
    (IMAGENET, 100, 2.4158, (6, 14, 16)),
    (MNIST, 5, 1.252972, (5, 1, 0)),
    (MNIST, 10, 0.971030, (10, 1, 0)),
    (MNIST, 20, 0.510931, (1, 10, 10)),
]


@pytest.mark.parametrize(("table", "machines", "epoch", "shape"), EXAMPLES)
def test_worked_examples(table: LayerTable, machines: int, epoch: float, shape: tuple[int, int, int]) -> None:
    best = optimise(table, CLUSTER, JOB, Limits(machines)).best
    assert best.epoch_s == pytest.approx(epoch, abs=6e-7 if machines < 100 else 6e-5)
    assert (best.n_workers, best.n_replicas, best.n_servers) == shape


def test_convolutions_are_copied_and_full_connections_cut() -> None:
    best = optimise(IMAGENET, CLUSTER, JOB, Limits(20)).best
    assert best.stripes == (1,) * 7 + (20, 20, 6)
    assert best.copies == (20,) * 7 + (1, 1, 3)


def test_a_synchronous_exchange_makes_replicas_not_worth_it() -> None:
    best = optimise(MNIST, CLUSTER, PartitionJob(10_000, 100, synchronous=True), Limits(20)).best
    assert (best.epoch_s, best.n_workers) == (pytest.approx(0.786365, abs=6e-7), 20)


def test_memory_leaves_plans_that_fit() -> None:
    """Without the limit one machine would hold every layer."""
    free = optimise(MNIST, CLUSTER, JOB, Limits(20)).best
    held = optimise(MNIST, CLUSTER, JOB, Limits(20, memory_bytes=4e6))
    assert held.best.epoch_s > free.epoch_s
    assert min(held.best.stripes[:3]) > 1
    with pytest.raises(DataError, match="fits"):
        optimise(MNIST, CLUSTER, JOB, Limits(2, memory_bytes=4e6))


def test_limits_are_kept() -> None:
    window = optimise(MNIST, CLUSTER, JOB, Limits(20, minibatch=(200, 500))).best
    assert 2 <= window.n_replicas <= 5
    assert optimise(MNIST, CLUSTER, JOB, Limits(20, staleness=5)).best.n_replicas <= 3
    assert optimise(MNIST, CLUSTER, JOB, Limits(20, replicas=1)).best.n_servers == 0
    with pytest.raises(DataError, match="keeps a mini-batch of 101 to 199"):
        optimise(MNIST, CLUSTER, JOB, Limits(20, minibatch=(101, 199)))


def test_more_of_anything_never_hurts() -> None:
    epochs = [optimise(MNIST, CLUSTER, JOB, Limits(machines)).best.epoch_s for machines in range(1, 25)]
    assert (np.diff(epochs) <= 1e-12).all()
    wide = dataclasses.replace(CLUSTER, bandwidth_bytes_per_s=4e9)
    quick = dataclasses.replace(CLUSTER, muladd_s=CLUSTER.muladd_s / 2)
    base = optimise(IMAGENET, CLUSTER, JOB, Limits(20)).best.epoch_s
    assert optimise(IMAGENET, wide, JOB, Limits(20)).best.epoch_s < base
    assert optimise(IMAGENET, quick, JOB, Limits(20)).best.epoch_s < base
