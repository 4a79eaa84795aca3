"""Times of plans: one machine is a plain sum, free networks leave computing alone, and the shapes of KDD'15's figure 2."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from partition_networks import CLUSTER, IMAGENET, MNIST

from mlperf.core.errors import DataError
from mlperf.systems.model_parallel.costs import best_threads, segment_passes
from mlperf.systems.model_parallel.epoch import epoch_s, sample_times
from mlperf.systems.model_parallel.layers import LayerTable
from mlperf.systems.model_parallel.server_exchange import server_exchange


@pytest.mark.parametrize(
    ("table", "threads", "seconds"),
    [(IMAGENET, 1, 0.242948), (IMAGENET, 16, 0.022017), (MNIST, 1, 0.003351), (MNIST, 16, 0.000304)],
)
def test_one_machine_is_the_sum_of_its_layers(table: LayerTable, threads: int, seconds: float) -> None:
    one = [1] * table.n_layers
    found = sample_times(table, CLUSTER, one, one, 100, [threads] * table.n_layers)
    work = sum(float(segment_passes(table, layer, np.array([1]), CLUSTER).total_s[0]) for layer in range(table.n_layers))
    assert found.sample_s == pytest.approx(work * (1 + 0.03 * (threads - 1)) / threads)
    assert found.sample_s == pytest.approx(seconds, abs=6e-7)
    assert found.activation_values.tolist() == found.error_values.tolist() == [0.0] * table.n_layers


def test_without_cost_of_messages_only_computing_is_left() -> None:
    free = dataclasses.replace(CLUSTER, latency_s=np.zeros(16), bandwidth_bytes_per_s=1e30)
    stripes, copies = [3] * 10, [2] * 10
    found = sample_times(IMAGENET, free, stripes, copies, 100)
    alone = sum(best_threads(IMAGENET, layer, 3, free).cost_s[2, 0] / 2 for layer in range(10))
    assert found.sample_s == pytest.approx(alone)


def model_speedups(table: LayerTable, counts: tuple[int, ...]) -> list[float]:
    """Every layer in P stripes, one thread."""
    taus = [
        sample_times(table, CLUSTER, [min(p, int(r)) for r in table.rows], [1] * table.n_layers, 100, [1] * table.n_layers).sample_s
        for p in counts
    ]
    return [taus[0] / tau for tau in taus]


def test_model_parallelism_is_super_linear_into_the_cache() -> None:
    counts = (1, 2, 4, 8, 16)
    assert model_speedups(IMAGENET, counts) == pytest.approx([1, 2.055, 4.199, 7.518, 13.98], rel=5e-4)
    assert model_speedups(MNIST, counts) == pytest.approx([1, 1.684, 2.891, 4.503, 6.247], rel=5e-4)


def epoch_of(table: LayerTable, replicas: int, servers: int) -> float:
    one = [1] * table.n_layers
    tau = sample_times(table, CLUSTER, one, one, 100).sample_s
    exchange = server_exchange(table.all_params, 1, replicas, servers if replicas > 1 else 0, CLUSTER)
    return float(epoch_s(exchange.period_s(np.asarray(100 * tau), synchronous=False), np.asarray(replicas), 100, 10_000))


def test_replicas_are_linear_when_computing_takes_the_time() -> None:
    for table, expected in ((IMAGENET, [1, 2, 4, 8]), (MNIST, [1, 1.246, 2.491, 4.755])):
        found = [epoch_of(table, 1, 0) / epoch_of(table, a, 8) for a in (1, 2, 4, 8)]
        assert found == pytest.approx(expected, rel=5e-4)


def test_servers_saturate() -> None:
    found = [epoch_of(MNIST, 4, 1) / epoch_of(MNIST, 4, s) for s in (1, 2, 4, 8, 16)]
    assert found == pytest.approx([1, 2, 4, 4.191, 4.191], rel=5e-4)
    assert epoch_of(IMAGENET, 4, 1) == pytest.approx(epoch_of(IMAGENET, 4, 16))


def test_plans_that_cannot_run_are_refused() -> None:
    one = [1] * 10
    with pytest.raises(DataError, match="rows"):
        sample_times(IMAGENET, CLUSTER, [1] * 6 + [6, 1, 1, 1], one, 100)
    with pytest.raises(DataError, match="cores"):
        sample_times(IMAGENET, CLUSTER, one, one, 100, [17, *one[1:]])
    with pytest.raises(DataError, match="copies"):
        sample_times(IMAGENET, CLUSTER, one, [0, *one[1:]], 100)
