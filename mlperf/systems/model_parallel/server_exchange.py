"""The exchange with parameter servers: what a worker's link and a server need, and the period of a replica that follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.systems.model_parallel.constants import Constants

Counts = FloatArray | IntArray | float


@dataclass(frozen=True, slots=True, eq=False)
class ServerExchange(Shown):
    """One push and one pull of every replica; seconds, arrays that broadcast with each other, 0 without servers.

    Servers receive, add and answer one message after the other, in the order in which they were sent.

    Attributes
    ----------
    link_s : array
        Of a worker's own link: 2 (C_ncost + u/n), u the transfer of all parameters.
    arrival_s : array
        Until a replica's gradient is on its way to the last of the servers and the first weights are back: 2 C_ncost + u/S +
        (S - 1) u/(n S).
    received_s : array
        In which a server receives and adds the gradients of all replicas: A (u + C_add par)/S.
    answered_s : array
        In which it sends all of them their weights: A u/S.
    """

    link_s: FloatArray
    arrival_s: FloatArray
    received_s: FloatArray
    answered_s: FloatArray

    @property
    def busy_s(self) -> FloatArray:
        """Seconds of work of a server in each period."""
        return np.asarray(self.received_s + self.answered_s)

    def period_s(self, compute_s: FloatArray, *, synchronous: bool) -> FloatArray:
        """T_period of replicas that compute ``compute_s`` for a mini-batch, seconds.

        Asynchronous replicas compute while they exchange: the slowest of computing, link and server sets the pace. Synchronous ones
        wait for the sum of all. A server that answers them one after the other has let the first go before the last, so that most
        answers are sent while others compute: max(C + link, max(C + arrival, answered) + received), C a mini-batch's computing.
        """
        compute = np.asarray(compute_s)
        if not synchronous:
            return np.maximum(compute, np.maximum(self.link_s, self.busy_s))
        last = np.maximum(compute + self.arrival_s, self.answered_s) + self.received_s
        return np.maximum(compute + self.link_s, last)

    def most_compute_s(self, period_s: FloatArray, *, synchronous: bool) -> FloatArray:
        """The longest computing of a mini-batch that keeps a period which the exchange alone keeps, seconds."""
        return np.asarray(period_s - (np.maximum(self.link_s, self.arrival_s + self.received_s) if synchronous else 0.0))


def server_exchange(
    all_params: float, n_workers: Counts, n_replicas: Counts, n_servers: Counts, constants: Constants
) -> ServerExchange:
    """The exchange of A replicas of n workers with S servers, from the constants of a machine."""
    replicas, servers = np.asarray(n_replicas, np.float64), np.asarray(n_servers, np.float64)
    workers = np.asarray(n_workers, np.float64)
    transfer_s = np.asarray(all_params * constants.value_bytes / constants.bandwidth_bytes_per_s)
    add_s = np.asarray(all_params * constants.add_of(shard_bytes(all_params, servers, constants.value_bytes)))
    return exchange_of(2.0 * (constants.latency_s[0] + transfer_s / workers), transfer_s, add_s, workers, replicas, servers)


def shard_bytes(all_params: float, n_servers: Counts, value_bytes: float) -> FloatArray:
    """Working set of a server: its part of the weights, and as much that was received."""
    return np.asarray(2.0 * value_bytes * all_params / np.maximum(np.asarray(n_servers, np.float64), 1.0))


def exchange_of(
    link_s: FloatArray,
    transfer_s: FloatArray,
    add_s: FloatArray,
    n_workers: FloatArray,
    n_replicas: FloatArray,
    n_servers: FloatArray,
) -> ServerExchange:
    """The exchange from its times: that of a worker's link, u, the addition of all parameters by one server; n, A and S."""
    shards = np.maximum(n_servers, 1.0)
    there = np.where(n_servers > 0, 1.0, 0.0)
    latencies_s = np.maximum(link_s - 2.0 * transfer_s / n_workers, 0.0)
    return ServerExchange(
        there * link_s,
        there * (latencies_s + transfer_s / shards + (shards - 1.0) / shards * transfer_s / n_workers),
        there * n_replicas * (transfer_s + add_s) / shards,
        there * n_replicas * transfer_s / shards,
    )
