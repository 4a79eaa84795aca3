"""All-reduces against messages sent one by one: the sums come out right, and the clocks show the formula's time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.base.collectives import (
    ALGORITHMS,
    allreduce_s,
    message_s,
    reduce_scatter_s,
    server_exchange_s,
)

LATENCY_S, BANDWIDTH_BYTES_PER_S = 2e-5, 5e8
ITEM_BYTES = 8


class Network:
    """Nodes with a vector and a clock each; a message takes its latency and its bytes over the bandwidth.

    It begins when both are ready; a node may send and receive at once.
    """

    def __init__(self, n_nodes: int, length: int) -> None:
        self.vectors = np.random.default_rng(n_nodes).integers(0, 100, (n_nodes, length)).astype(float)
        self.clocks = np.zeros(n_nodes)

    def step(self, messages: list[tuple[int, int, slice, bool]]) -> None:
        """Messages of one step, each (from, to, part of the vector, whether it is added), all sent before any arrives."""
        before, clocks = self.vectors.copy(), self.clocks.copy()
        for source, to, part, added in messages:
            values = before[source, part]
            self.vectors[to, part] = values + (before[to, part] if added else 0.0)
            end_s = max(clocks[source], clocks[to]) + LATENCY_S + values.size * ITEM_BYTES / BANDWIDTH_BYTES_PER_S
            self.clocks[[source, to]] = np.maximum(self.clocks[[source, to]], end_s)


def ring(network: Network) -> None:
    """Scatter-reduce, then gather, neighbours only."""
    n_nodes, length = network.vectors.shape
    part = [slice(each * length // n_nodes, (each + 1) * length // n_nodes) for each in range(n_nodes)]
    for added in (True, False):
        for step in range(n_nodes - 1):
            first = 0 if added else 1
            network.step([(node, (node + 1) % n_nodes, part[(node + first - step) % n_nodes], added) for node in range(n_nodes)])


def tree(network: Network) -> None:
    """Sums up to node 0 in a binomial tree, the result down the same way."""
    n_nodes, length = network.vectors.shape
    distances = [2**level for level in range((n_nodes - 1).bit_length())]
    for distance in distances:
        pairs = [(node + distance, node) for node in range(0, n_nodes, 2 * distance) if node + distance < n_nodes]
        network.step([(source, to, slice(length), True) for source, to in pairs])
    for distance in reversed(distances):
        pairs = [(node, node + distance) for node in range(0, n_nodes, 2 * distance) if node + distance < n_nodes]
        network.step([(source, to, slice(length), False) for source, to in pairs])


def halving_doubling(network: Network) -> None:
    """Partners swap halves of what they still hold, then the other way round."""
    n_nodes, length = network.vectors.shape
    held = dict.fromkeys(range(n_nodes), (0, length))
    steps = []
    distance = n_nodes // 2
    while distance:
        messages, kept = [], {}
        for node, (begin, end) in held.items():
            middle = (begin + end) // 2
            low = node & distance == 0
            kept[node] = (begin, middle) if low else (middle, end)
            messages.append((node, node ^ distance, slice(middle, end) if low else slice(begin, middle), True))
        network.step(messages)
        steps.append((distance, dict(kept)))
        held = kept
        distance //= 2
    for distance, kept in reversed(steps):
        network.step([(node, node ^ distance, slice(*kept[node]), False) for node in range(n_nodes)])


RUN: dict[str, Callable[[Network], None]] = {"ring": ring, "tree": tree, "halving_doubling": halving_doubling}


@pytest.mark.parametrize(
    ("kind", "n_nodes"),
    [("ring", n) for n in (2, 3, 5, 8)] + [("tree", n) for n in (2, 3, 6, 8)] + [("halving_doubling", n) for n in (2, 4, 16)],
)
def test_the_time_is_that_of_the_messages(kind: str, n_nodes: int) -> None:
    length = 480
    network = Network(n_nodes, length)
    total = network.vectors.sum(axis=0)
    RUN[kind](network)
    assert np.array_equal(network.vectors, np.tile(total, (n_nodes, 1)))
    found = allreduce_s(kind, np.array([float(length * ITEM_BYTES)]), np.array([n_nodes]), LATENCY_S, BANDWIDTH_BYTES_PER_S)
    assert found[0] == pytest.approx(network.clocks.max(), rel=1e-12)


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_one_node_exchanges_nothing(kind: str) -> None:
    assert allreduce_s(kind, np.array([1e6]), np.array([1]), LATENCY_S, BANDWIDTH_BYTES_PER_S) == 0.0


def test_large_vectors_are_limited_by_bandwidth_and_small_ones_by_latency() -> None:
    """Per node 2 (M-1)/M of the vector must be sent by any algorithm (Patarasuk and Yuan): ring and halving reach that."""
    nodes = np.array([16.0])
    least_s = 2 * 15 / 16 * 1e9 / BANDWIDTH_BYTES_PER_S
    for kind in ("ring", "halving_doubling"):
        assert allreduce_s(kind, np.array([1e9]), nodes, 0.0, BANDWIDTH_BYTES_PER_S)[0] == pytest.approx(least_s)
    tiny = {kind: allreduce_s(kind, np.array([0.0]), nodes, LATENCY_S, BANDWIDTH_BYTES_PER_S)[0] for kind in ALGORITHMS}
    assert tiny["halving_doubling"] == tiny["tree"] == pytest.approx(8 * LATENCY_S)
    assert tiny["ring"] == pytest.approx(30 * LATENCY_S)


def test_an_unknown_algorithm_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"'rign', expected one of ring, tree, halving_doubling"):
        allreduce_s("rign", np.array([1.0]), np.array([2]), LATENCY_S, BANDWIDTH_BYTES_PER_S)


class Sent:
    """Bytes that each node sent, counted message by message."""

    def __init__(self, n_nodes: int) -> None:
        self.bytes = np.zeros(n_nodes)
        self.steps = 0


def counted_ring(n_nodes: int, length: int, *, gathers: bool) -> Sent:
    """A ring reduce-scatter (and all-gather) of ``length`` items, only counted."""
    sent = Sent(n_nodes)
    part = [((each + 1) * length) // n_nodes - (each * length) // n_nodes for each in range(n_nodes)]
    for _ in range(2 if gathers else 1):
        for step in range(n_nodes - 1):
            sent.bytes += np.array([part[(node - step) % n_nodes] for node in range(n_nodes)]) * ITEM_BYTES
            sent.steps += 1
    return sent


@pytest.mark.parametrize("n_nodes", [2, 3, 8, 16])
def test_the_ring_sends_what_is_counted(n_nodes: int) -> None:
    """Volume 2 (M-1)/M B in 2 (M-1) steps; a reduce-scatter or an all-gather half of both."""
    length, nodes = 240, np.array([float(n_nodes)])
    size = np.array([float(length * ITEM_BYTES)])
    for gathers, kinds in ((True, (lambda *a: allreduce_s("ring", *a),)), (False, (reduce_scatter_s,) * 2)):
        sent = counted_ring(n_nodes, length, gathers=gathers)
        for kind in kinds:
            assert kind(size, nodes, 0.0, 1.0)[0] == pytest.approx(sent.bytes.mean(), rel=1e-12)
            assert kind(size, nodes, 1.0, np.inf)[0] == pytest.approx(sent.steps)
    assert counted_ring(n_nodes, length, gathers=True).bytes.mean() == pytest.approx(2 * (n_nodes - 1) / n_nodes * size[0])


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_the_ramp_is_paid_for_every_message(kind: str) -> None:
    """Against the roots of the messages' sizes, one by one; 8 nodes, 1 MB."""
    size, n_nodes, ramp = 1e6, 8, 3e-7
    messages = {
        "ring": [size / n_nodes] * (2 * (n_nodes - 1)),
        "tree": [size] * 6,
        "halving_doubling": [size / 2, size / 4, size / 8] * 2,
    }
    one, two = (allreduce_s(kind, np.array([size]), np.array([8.0]), 1e-5, 1e9, each)[0] for each in (0.0, ramp))
    assert two - one == pytest.approx(ramp * sum(np.sqrt(messages[kind])))
    assert message_s(np.array(4e6), 1e-3, 1e9, 1e-6) == pytest.approx(1e-3 + 4e-3 + 2e-3)


def test_servers_are_bounded_by_the_busier_link() -> None:
    """One server carries M vectors each way; as many servers as workers carry one each, as the workers do."""
    size, nodes = np.array([1e8]), np.array([16.0])
    one = server_exchange_s(size, nodes, 1e-4, 1e9)
    many = server_exchange_s(size, nodes, 1e-4, 1e9, n_servers=np.array([16.0]))
    assert one[0] == pytest.approx(2 * (1e-4 + 1.6))
    assert many[0] == pytest.approx(2 * (1e-4 + 0.1)) == server_exchange_s(size, nodes, 1e-4, 1e9, n_servers=np.array([64.0]))[0]
