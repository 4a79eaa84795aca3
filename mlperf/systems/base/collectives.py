"""Time of an all-reduce from latency and bandwidth, by algorithm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError


def ring_s(size_bytes: FloatArray, n_nodes: FloatArray, latency_s: float, bandwidth_bytes_per_s: float) -> FloatArray:
    """Ring: 2 (M-1) steps, each moving 1/M of the vector (Patarasuk and Yuan, 2009); 0 for one node."""
    return 2.0 * (n_nodes - 1.0) * (latency_s + size_bytes / (n_nodes * bandwidth_bytes_per_s))


def tree_s(size_bytes: FloatArray, n_nodes: FloatArray, latency_s: float, bandwidth_bytes_per_s: float) -> FloatArray:
    """Reduction tree and broadcast: 2 ceil(log2 M) steps, each moving the whole vector."""
    return 2.0 * np.ceil(np.log2(n_nodes)) * (latency_s + size_bytes / bandwidth_bytes_per_s)


def halving_doubling_s(size_bytes: FloatArray, n_nodes: FloatArray, latency_s: float, bandwidth_bytes_per_s: float) -> FloatArray:
    """Recursive halving and doubling: 2 log2 M latencies, 2 (M-1)/M of the vector (Thakur et al., 2005)."""
    steps = 2.0 * np.log2(n_nodes)
    return steps * latency_s + 2.0 * (n_nodes - 1.0) / n_nodes * size_bytes / bandwidth_bytes_per_s


ALGORITHMS: dict[str, Callable[[FloatArray, FloatArray, float, float], FloatArray]] = {
    "ring": ring_s,
    "tree": tree_s,
    "halving_doubling": halving_doubling_s,
}


def allreduce_s(
    kind: str, size_bytes: FloatArray, n_nodes: FloatArray, latency_s: float, bandwidth_bytes_per_s: float
) -> FloatArray:
    """Time of one all-reduce without waiting for stragglers.

    Parameters
    ----------
    kind : str
        ``ring``, ``tree`` or ``halving_doubling``.
    size_bytes, n_nodes : array, shape (n_configs,)
        Vector size in bytes; participants, >= 1.
    latency_s, bandwidth_bytes_per_s : float
        Of one message between two nodes.

    Returns
    -------
    array, shape (n_configs,)
        Seconds; 0 for one node.

    Raises
    ------
    UsageError
        Unknown ``kind``.
    """
    if kind not in ALGORITHMS:
        raise UsageError(f"got all-reduce algorithm {kind!r}, expected one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[kind](np.asarray(size_bytes, float), np.asarray(n_nodes, float), latency_s, bandwidth_bytes_per_s)
