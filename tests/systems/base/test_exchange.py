"""Exchanges inside and across machines against messages moved one by one over links that are shared."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.exchange import EXCHANGES, FORM_NAMES, Links, exchange_by_number_s, exchange_s, scatter_s

SIZE = 48_000.0


def links(**changed: float) -> Links:
    given = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1e9, "local_latency_s": 5e-6, "local_bandwidth_bytes_per_s": 1e10}
    return Links(**{name: np.array(value) for name, value in {**given, **changed}.items()})


class Cluster:
    """Machines of GPUs with a clock each; what crosses at the same time shares its machine's link evenly."""

    def __init__(self, n_nodes: int, n_local: int, net: Links) -> None:
        self.shape, self.net = (n_nodes, n_local), net
        self.clock = np.zeros((n_nodes, n_local))
        self.vectors = np.random.default_rng(0).integers(0, 9, (n_nodes, n_local, 48)).astype(float)

    def inside(self, size_bytes: float) -> None:
        """One step of a ring in each machine."""
        self.clock = np.maximum(self.clock, np.roll(self.clock, 1, axis=1))
        self.clock += float(self.net.local_latency_s) + size_bytes / float(self.net.local_bandwidth_bytes_per_s)

    def across(self, size_bytes: float) -> None:
        """One step of n_local rings across machines, all over the same links."""
        self.clock = np.maximum(self.clock, np.roll(self.clock, 1, axis=0))
        self.clock += float(self.net.latency_s) + self.shape[1] * size_bytes / float(self.net.bandwidth_bytes_per_s)


def two_level(cluster: Cluster) -> None:
    """Reduce-scatter inside, ring across on each shard, all-gather inside; the sums are carried, too."""
    n_nodes, n_local = cluster.shape
    for _ in range(n_local - 1):
        cluster.inside(SIZE / n_local)
    inside = cluster.vectors.sum(axis=1)
    for _ in range(2 * (n_nodes - 1)):
        cluster.across(SIZE / n_local / n_nodes)
    for _ in range(n_local - 1):
        cluster.inside(SIZE / n_local)
    cluster.vectors[:] = inside.sum(axis=0)


@pytest.mark.parametrize(("n_nodes", "n_local"), [(1, 1), (1, 8), (4, 1), (4, 8), (3, 2)])
def test_two_levels_take_the_time_of_their_messages(n_nodes: int, n_local: int) -> None:
    cluster = Cluster(n_nodes, n_local, links())
    two_level(cluster)
    found = exchange_s("two_level", np.array(SIZE), np.array(n_nodes), np.array(n_local), links())
    assert float(found) == pytest.approx(float(cluster.clock.max()), rel=1e-12)
    half = scatter_s(np.array(SIZE), np.array(n_nodes), np.array(n_local), links())
    assert 2.0 * float(half) == pytest.approx(float(found))


@pytest.mark.parametrize("form", EXCHANGES)
def test_one_gpu_exchanges_nothing(form: str) -> None:
    assert exchange_s(form, np.array(SIZE), np.array(1), np.array(1), links()) == 0.0


def test_without_a_network_the_links_inside_are_all_there_is() -> None:
    """One machine: two levels and the flat ring are the same ring; machines of one GPU: the ring across is."""
    for nodes, local in ((1, 8), (8, 1)):
        net = links() if nodes == 1 else links(local_latency_s=0.0, local_bandwidth_bytes_per_s=np.inf)
        flat = exchange_s("ring", np.array(SIZE), np.array(nodes), np.array(local), net)
        assert float(exchange_s("two_level", np.array(SIZE), np.array(nodes), np.array(local), net)) == pytest.approx(float(flat))


def test_two_levels_win_where_latency_of_many_steps_costs() -> None:
    """A flat ring of 64 GPUs has 126 steps across the network, two levels 14 and 14 inside."""
    small = np.array(1e3)
    flat, two = (float(exchange_s(form, small, np.array(8), np.array(8), links())) for form in ("ring", "two_level"))
    assert flat == pytest.approx(126 * (5e-5 + 1e3 / 64 / 1e9), rel=1e-9)
    assert two == pytest.approx(14 * (5e-5 + 1e3 / 8 / 1e9) + 14 * (5e-6 + 1e3 / 8 / 1e10), rel=1e-9)


def test_forms_by_number_are_the_forms_by_name() -> None:
    numbers = np.arange(len(FORM_NAMES), dtype=float)
    found = exchange_by_number_s(numbers, np.array(SIZE), np.array(4.0), np.array(8.0), links())
    named = [float(exchange_s(name, np.array(SIZE), np.array(4.0), np.array(8.0), links())) for name in FORM_NAMES]
    assert found.tolist() == pytest.approx(named)
    assert len(set(np.round(named, 12))) == len(named)
    with pytest.raises(DataError, match=r"got 9 for 'exchange_form', expected one of 0 two_level"):
        exchange_by_number_s(np.array([0.0, 9.0]), np.array(SIZE), np.array(4.0), np.array(8.0), links())
    with pytest.raises(UsageError, match=r"'two-level'.*\n.*Did you mean 'two_level'"):
        exchange_s("two-level", np.array(SIZE), np.array(4), np.array(8), links())
