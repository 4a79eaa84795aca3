"""Time of a collective between equal partners from latency and bandwidth, by algorithm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.suggest import known_word

Seconds = float | FloatArray


def message_s(size_bytes: FloatArray, latency_s: Seconds, bandwidth_bytes_per_s: Seconds, ramp: Seconds = 0.0) -> FloatArray:
    """One message: latency, bytes over bandwidth, and a ramp with the root of the bytes.

    Parameters
    ----------
    size_bytes : array
        Bytes of the message.
    latency_s, bandwidth_bytes_per_s : float or array
        Of one message between two partners.
    ramp : float or array
        Seconds per root of a byte: links reach their bandwidth only gradually as messages grow. 0: at once.

    Returns
    -------
    array
        Seconds.
    """
    size = np.asarray(size_bytes, dtype=np.float64)
    return np.asarray(latency_s + size / bandwidth_bytes_per_s + ramp * np.sqrt(size))


def reduce_scatter_s(
    size_bytes: FloatArray, n_nodes: FloatArray, latency_s: Seconds, bandwidth_bytes_per_s: Seconds, ramp: Seconds = 0.0
) -> FloatArray:
    """Ring reduce-scatter of a vector of ``size_bytes``: M-1 steps, each moving 1/M of it; 0 for one node."""
    return np.asarray((n_nodes - 1.0) * message_s(size_bytes / n_nodes, latency_s, bandwidth_bytes_per_s, ramp))


def ring_s(
    size_bytes: FloatArray, n_nodes: FloatArray, latency_s: Seconds, bandwidth_bytes_per_s: Seconds, ramp: Seconds = 0.0
) -> FloatArray:
    """Ring: 2 (M-1) steps, each moving 1/M of the vector (Patarasuk and Yuan, 2009); 0 for one node."""
    return 2.0 * reduce_scatter_s(size_bytes, n_nodes, latency_s, bandwidth_bytes_per_s, ramp)


def tree_s(
    size_bytes: FloatArray, n_nodes: FloatArray, latency_s: Seconds, bandwidth_bytes_per_s: Seconds, ramp: Seconds = 0.0
) -> FloatArray:
    """Reduction tree and broadcast: 2 ceil(log2 M) steps, each moving the whole vector."""
    return np.asarray(2.0 * np.ceil(np.log2(n_nodes)) * message_s(size_bytes, latency_s, bandwidth_bytes_per_s, ramp))


def halving_doubling_s(
    size_bytes: FloatArray, n_nodes: FloatArray, latency_s: Seconds, bandwidth_bytes_per_s: Seconds, ramp: Seconds = 0.0
) -> FloatArray:
    """Recursive halving and doubling: 2 log2 M latencies, 2 (M-1)/M of the vector (Thakur et al., 2005).

    The roots of its halved messages, size / 2, / 4, ... / M, are summed as a geometric series.
    """
    steps = 2.0 * np.log2(n_nodes)
    roots = 2.0 * (1.0 - np.sqrt(1.0 / n_nodes)) / (np.sqrt(2.0) - 1.0) * np.sqrt(size_bytes)
    return np.asarray(steps * latency_s + 2.0 * (n_nodes - 1.0) / n_nodes * size_bytes / bandwidth_bytes_per_s + ramp * roots)


def server_exchange_s(
    size_bytes: FloatArray,
    n_nodes: FloatArray,
    latency_s: Seconds,
    bandwidth_bytes_per_s: Seconds,
    ramp: Seconds = 0.0,
    n_servers: FloatArray | float = 1.0,
) -> FloatArray:
    """Every node pushes its vector to sharded parameter servers and pulls the sum: push, then pull.

    A worker's link carries the whole vector once each way; a server's link carries its shard of all M workers. The slower of the
    two bounds each direction.

    Parameters
    ----------
    size_bytes, n_nodes, latency_s, bandwidth_bytes_per_s, ramp
        As for :func:`allreduce_s`; servers have links like those of nodes, and stand apart from them.
    n_servers : array or float
        Servers, each with an equal part of the vector, >= 1.

    Returns
    -------
    array
        Seconds: 2 max(message(B), latency + M B / (S bandwidth)). Not 0 for one node: the server stands apart.
    """
    bytes_at_server = n_nodes * np.asarray(size_bytes, dtype=np.float64) / n_servers
    most = np.maximum(size_bytes, bytes_at_server)
    return np.asarray(2.0 * (message_s(most, latency_s, bandwidth_bytes_per_s) + ramp * np.sqrt(size_bytes)))


ALGORITHMS: dict[str, Callable[[FloatArray, FloatArray, Seconds, Seconds, Seconds], FloatArray]] = {
    "ring": ring_s,
    "tree": tree_s,
    "halving_doubling": halving_doubling_s,
}


def allreduce_s(
    kind: str,
    size_bytes: FloatArray,
    n_nodes: FloatArray,
    latency_s: Seconds,
    bandwidth_bytes_per_s: Seconds,
    ramp: Seconds = 0.0,
) -> FloatArray:
    """Time of one all-reduce without waiting for stragglers.

    Parameters
    ----------
    kind : str
        ``ring``, ``tree`` or ``halving_doubling``.
    size_bytes, n_nodes : array, shape (n_configs,)
        Vector size in bytes; participants, >= 1.
    latency_s, bandwidth_bytes_per_s : float or array
        Of one message between two nodes.
    ramp : float or array
        Seconds per root of a byte of a message.

    Returns
    -------
    array, shape (n_configs,)
        Seconds; 0 for one node.

    Raises
    ------
    UsageError
        Unknown ``kind``.
    """
    known_word(kind, ALGORITHMS, "all-reduce algorithm")
    return ALGORITHMS[kind](np.asarray(size_bytes, float), np.asarray(n_nodes, float), latency_s, bandwidth_bytes_per_s, ramp)
