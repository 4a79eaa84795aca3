"""Periods of replicas behind parameter servers: closed forms against an exchange that is played message by message."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from partition_networks import CLUSTER

from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.server_exchange import ServerExchange, exchange_of, server_exchange

HAND = Constants(np.array([1.0]), np.array([1e-9]), 1e-8, 2e-8, np.array([1.0]), np.array([1e-4]), 1e9, 1e-9)


def played_period_s(a: int, n: int, s: int, compute: float, transfer: float, add: float, latency: float, rounds: int = 30) -> float:
    """Synchronous rounds: every worker sends to the servers in turn, a server takes, adds and answers in the order of sending."""
    each, added = transfer / (n * s), add / (n * s)
    free, starts, ends = [0.0] * s, [0.0] * a, []
    for _ in range(rounds):
        pushed = [start + compute for start in starts]
        sent = {}
        for server in range(s):
            arriving = sorted((pushed[i] + server * each, i, j) for i in range(a) for j in range(n))
            for at, _, _ in arriving:
                free[server] = max(free[server], at + latency) + each + added
            for _, i, j in arriving:
                sent[i, j, server] = free[server]
                free[server] += each
        for i in range(a):
            done = pushed[i] + 2.0 * (latency + transfer / n)
            for j in range(n):
                received = 0.0
                for server in range(s):
                    received = max(received, sent[i, j, server] + latency) + each
                done = max(done, received)
            starts[i] = done
        ends.append(max(starts))
    return (ends[-1] - ends[9]) / (rounds - 10)


def exchange(a: int, n: int, s: int, transfer: float, add: float, latency: float) -> ServerExchange:
    numbers = (2.0 * (latency + transfer / n), transfer, add, n, a, s)
    return exchange_of(*(np.asarray(float(each)) for each in numbers))


@pytest.mark.parametrize("seed", range(200))
def test_synchronous_periods_are_those_of_rounds_played_message_by_message(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, n, s = (int(rng.integers(1, most)) for most in (9, 7, 9))
    compute, add, latency = float(rng.uniform(0, 2) * rng.choice([0.1, 1, 5])), float(rng.uniform(0, 0.5)), rng.choice([0.0, 0.02])
    found = exchange(a, n, s, 1.0, add, latency)
    period = float(found.period_s(np.asarray(compute), synchronous=True))
    assert period == pytest.approx(played_period_s(a, n, s, compute, 1.0, add, latency), rel=1e-9)
    longest = float(found.most_compute_s(np.asarray(period), synchronous=True))
    assert float(found.period_s(np.asarray(max(longest, 0.0)), synchronous=True)) == pytest.approx(period)


def test_one_replica_pushes_adds_and_pulls_in_turn() -> None:
    found = exchange(1, 1, 1, transfer=1.0, add=0.25, latency=0.125)
    assert float(found.period_s(np.asarray(3.0), synchronous=True)) == 3.0 + 2 * (1.0 + 0.125) + 0.25


def test_asynchronous_replicas_wait_for_the_slowest_of_computing_link_and_server() -> None:
    par = 1e6
    worker, server = 2 * (1e-4 + par / 5 * 4e-9), 2 * 2 * par * 4e-9 + 2 * par * 1e-9
    for servers, expected in ((1000, worker), (1, server), (0, 0.0)):
        found = server_exchange(par, 5, 2, servers, HAND)
        assert found.period_s(np.asarray(0.0), synchronous=False) == pytest.approx(expected)
        assert found.period_s(np.asarray(9.0), synchronous=False) == 9.0


def test_without_servers_nothing_is_exchanged() -> None:
    found = server_exchange(1e6, 2, 1, 0, CLUSTER)
    assert float(found.period_s(np.asarray(1.5), synchronous=True)) == 1.5


def test_a_server_with_a_small_part_adds_as_fast_as_its_cache() -> None:
    held = dataclasses.replace(CLUSTER, add_of_bytes=(np.array([1e5, 1e7]), np.array([1e-10, 3e-10])))
    par = 1e7 / 8
    few, many = (server_exchange(par, 1, 4, servers, held) for servers in (1, 100))
    assert float(few.received_s - few.answered_s) == pytest.approx(4 * par * 3e-10)
    assert float(many.received_s - many.answered_s) == pytest.approx(4 * par * 1e-10 / 100)
    assert math.isclose(float(held.add_of(np.asarray(1e6))), 2e-10)
    with np.errstate(all="raise"):
        assert float(held.add_of(np.asarray(0.0))) == 1e-10  # a network without weights
