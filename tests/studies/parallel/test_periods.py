"""Eqs. 5 to 9 by hand, and T_sync, the period and the staleness against a simulation of workers and servers by events."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pytest

from mlperf.collect.servers.configuration import configuration_from
from mlperf.collect.servers.net import net_of, shipped_nets
from mlperf.collect.servers.request import EmulatedNetwork
from mlperf.studies.parallel.periods import predict_period, sync_s
from mlperf.training.systems.canonical_fit import CanonicalFit

NETS = {name: net_of(cnn) for name, cnn in shipped_nets().items()}
NETWORK = EmulatedNetwork(5e-6, 0.0, 6e9)
MULADD_S, ACT_S, ERR_S, ADD_S = 1e-10, 5e-9, 2e-9, 1e-10
ALONE = "1x1x1/1x1x1/1x1x1"


def test_one_worker_is_the_sum_of_its_passes(fit: CanonicalFit) -> None:
    layers = ((64, 1024), (1024, 1024), (1024, 10))
    products = sum(2 * a * b for a, b in layers) + sum(a * b for a, b in layers[1:])
    neurons = sum(b for _, b in layers)
    expected_s = 16 * (MULADD_S * products + (ACT_S + ERR_S) * neurons)
    period = predict_period(fit, configuration_from({"cnn": "digits-fc", "plan": ALONE}), NETS["digits-fc"], NETWORK)
    assert period.minibatch_s == pytest.approx(expected_s, rel=1e-12)
    assert (period.exchange_s, period.period_s, period.staleness) == (0.0, period.minibatch_s, 0.0)


def test_stripes_and_copies_by_hand(fit: CanonicalFit) -> None:
    net = NETS["digits-fc"]
    alone, stripes, copies = (
        predict_period(fit, configuration_from({"cnn": "digits-fc", "plan": plan}), net, NETWORK).minibatch_s
        for plan in (ALONE, "2x1x1/2x1x1/2x1x1", "1x2x1/1x2x1/1x2x1")
    )
    value_s = 4 / 6e9
    # Forward into layers 2 and 3, parts of errors into layers 1 and 2: half of 1024 values each, four latencies.
    messages_s = 4 * 5e-6 + 4 * 512 * value_s
    assert stripes == pytest.approx(alone / 2 + 16 * messages_s, rel=1e-12)
    rings_s = sum(2 * (5e-6 + layer.n_params / 2 * value_s) for layer in net.layers)
    assert copies == pytest.approx(alone / 2 + rings_s, rel=1e-12)


def test_threads_share_the_link_and_interfere(fit: CanonicalFit) -> None:
    one, two = (
        predict_period(fit, configuration_from({"cnn": "digits-fc", "plan": plan}), NETS["digits-fc"], NETWORK).minibatch_s
        for plan in (ALONE, ALONE.replace("x1x1", "x1x2"))
    )
    assert two == pytest.approx(1.1 * one / 2, rel=1e-12)


@dataclass
class Simulation:
    """Replicas of one worker each and their servers, event by event, none of the program's code.

    A replica computes, waits for the answer to its last push, pushes, and computes again (``overlapped``), or waits for the answer
    to the push just made. A server takes one message at a time: it receives, adds, and sends.
    """

    n_replicas: int
    n_servers: int
    compute_s: float
    n_values: int
    overlapped: bool
    latency_s: float = 5e-6
    byte_s: float = 1 / 6e9
    n_rounds: int = 60
    ends: dict[int, list[float]] = field(default_factory=dict)
    staleness: list[int] = field(default_factory=list)

    def run(self) -> None:
        """All rounds."""
        part_bytes, part = 4 * self.n_values / self.n_servers, self.n_values / self.n_servers
        events: list[tuple[float, int, str, int, int, int]] = []
        order, free, version = count(), [0.0] * self.n_servers, [0] * self.n_servers
        held, read = Counter[int](), Counter[int]()
        pending: dict[int, list[float]] = {}
        done_at: dict[int, float] = {}
        for replica in range(self.n_replicas):
            self.ends[replica] = []
            heapq.heappush(events, (self.compute_s * (1 + replica / self.n_replicas), next(order), "computed", replica, 0, 0))
        waiting: dict[int, float] = {}

        def push(replica: int, now: float) -> None:
            pending[replica], done_at[replica] = [], now + 2 * (self.latency_s + 4 * self.n_values * self.byte_s)
            for server in range(self.n_servers):
                sent = now + server * part_bytes * self.byte_s
                heapq.heappush(events, (sent + self.latency_s, next(order), "arrived", replica, server, held[replica]))

        def next_round(replica: int, now: float) -> None:
            self.ends[replica].append(now)
            heapq.heappush(events, (now + self.compute_s, next(order), "computed", replica, 0, 0))

        while events and min(map(len, self.ends.values())) < self.n_rounds:
            now, _, what, replica, server, known = heapq.heappop(events)
            if what == "arrived":
                start = max(now, free[server])
                if server == 0:
                    self.staleness.append(version[0] - known)
                version[server] += 1
                answered = start + part_bytes * self.byte_s + ADD_S * part
                free[server] = answered + part_bytes * self.byte_s
                heapq.heappush(events, (answered + self.latency_s, next(order), "answer", replica, server, version[server]))
            elif what == "answer":
                pending[replica].append(now)
                if server == 0:
                    read[replica] = known
                if len(pending[replica]) == self.n_servers:
                    received = 0.0
                    for each in sorted(pending[replica]):
                        received = max(received, each) + part_bytes * self.byte_s
                    heapq.heappush(events, (max(received, done_at[replica]), next(order), "pulled", replica, 0, 0))
            elif what == "pulled":
                del pending[replica]
                if replica in waiting:
                    del waiting[replica]
                    self.go_on(replica, now, push, next_round, held, read)
            elif replica in pending:
                waiting[replica] = now
            elif self.overlapped:
                self.go_on(replica, now, push, next_round, held, read)
            else:
                push(replica, now)
                waiting[replica] = now

    def go_on(self, replica, now, push, next_round, held, read) -> None:
        """What follows when the last answer is there."""
        if self.overlapped:
            push(replica, now)
        held[replica] = read[replica]
        next_round(replica, now)

    @property
    def period_s(self) -> float:
        """Mean period in the second half."""
        return float(np.mean([(ends[-1] - ends[len(ends) // 2]) / (len(ends) - 1 - len(ends) // 2) for ends in self.ends.values()]))

    @property
    def mean_staleness(self) -> float:
        """In the second half."""
        return float(np.mean(self.staleness[len(self.staleness) // 2 :]))


@pytest.mark.parametrize("compute_s", [2e-4, 3e-3, 2e-2])
@pytest.mark.parametrize(("n_replicas", "n_servers"), [(1, 1), (2, 1), (4, 1), (4, 2), (3, 4), (6, 3)])
def test_the_period_is_the_longer_of_computing_and_exchange(
    fit: CanonicalFit, n_replicas: int, n_servers: int, compute_s: float
) -> None:
    net = NETS["digits-fc"]
    table = {"cnn": "digits-fc", "plan": ALONE, "n_replicas": n_replicas, "n_servers": n_servers}
    expected_s = max(compute_s, sync_s(fit, configuration_from(table), net, NETWORK))
    simulation = Simulation(n_replicas, n_servers, compute_s, net.n_params, overlapped=True)
    simulation.run()
    # Near the crossing, messages of several servers leave one worker's link one by one and wait in different queues.
    assert expected_s <= 1.01 * simulation.period_s
    assert simulation.period_s <= (1.35 if n_replicas > 1 < n_servers else 1.2) * expected_s


@pytest.mark.parametrize("n_replicas", [1, 2, 4, 6])
def test_staleness_is_a_less_one_and_with_the_exchange_behind_twice_a_less_one(fit: CanonicalFit, n_replicas: int) -> None:
    table = {"cnn": "digits-fc", "plan": ALONE, "n_replicas": n_replicas, "n_servers": 2}
    told = predict_period(fit, configuration_from(table), NETS["digits-fc"], NETWORK).staleness
    for overlapped, expected in ((False, n_replicas - 1), (True, told)):
        simulation = Simulation(n_replicas, 2, 2e-2, 1_000_000, overlapped=overlapped)
        simulation.run()
        assert simulation.mean_staleness == pytest.approx(expected, abs=0.1)
    assert told == 2 * n_replicas - 1
