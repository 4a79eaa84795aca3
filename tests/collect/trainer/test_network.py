"""What an all-reduce over the network that is waited for takes, by form."""

from __future__ import annotations

import pytest

from mlperf.collect.trainer.network import EXCHANGES, Network

N_PARAMS = 1_000_000
"""4 MB, 4 ms at 1 GB/s."""


@pytest.mark.parametrize(
    ("exchange", "n_nodes", "n_latencies", "milliseconds"),
    [
        ("ring", 2, 2, 4.0),
        ("ring", 3, 4, 16 / 3),
        ("ring", 4, 6, 6.0),
        ("ring", 8, 14, 7.0),
        ("halving-doubling", 2, 2, 4.0),
        ("halving-doubling", 3, 4, 16 / 3),
        ("halving-doubling", 4, 4, 6.0),
        ("halving-doubling", 8, 6, 7.0),
        ("tree", 2, 2, 8.0),
        ("tree", 3, 4, 16.0),
        ("tree", 4, 4, 16.0),
        ("tree", 8, 6, 24.0),
    ],
)
def test_an_all_reduce_takes_its_latencies_and_its_share_of_the_vector(
    exchange: str, n_nodes: int, n_latencies: int, milliseconds: float
) -> None:
    """By hand: a ring passes M - 1 parts of 1/M twice; a tree has 2, 4, 6 rounds, in each of which the whole vector passes."""
    network = Network(latency_s=10e-6, bytes_per_s=1e9, exchange=exchange)
    assert network.allreduce_s(N_PARAMS, n_nodes) == pytest.approx(n_latencies * 10e-6 + milliseconds * 1e-3, rel=1e-12)


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_one_node_exchanges_nothing(exchange: str) -> None:
    assert Network(latency_s=1.0, bytes_per_s=1.0, exchange=exchange).allreduce_s(N_PARAMS, 1) == 0
