"""The network that is waited for instead of used: its latency, its bandwidth, and how vectors are exchanged over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

FP32_BYTES = 4
Amounts = tuple[float, float]
"""Latencies, and multiples of the vector that pass a node's link one after the other."""


def ring(n_nodes: int) -> Amounts:
    """What a ring exchange of two passes, reduce-scatter and all-gather, costs for any number of nodes."""
    return 2 * (n_nodes - 1), 2 * (n_nodes - 1) / n_nodes


def halving_doubling(n_nodes: int) -> Amounts:
    """What reduce-scatter by recursive halving and all-gather by recursive doubling cost (Rabenseifner).

    Exact at powers of two. Between them it has the latencies of the next power; that the nodes beyond the power below first hand
    their vectors over is left out.
    """
    return 2 * doublings(n_nodes), 2 * (n_nodes - 1) / n_nodes


def tree(n_nodes: int) -> Amounts:
    """What a reduction to one node and a broadcast from it cost, both along binomial trees, for any number of nodes."""
    return 2 * doublings(n_nodes), 2 * doublings(n_nodes)


def doublings(n_nodes: int) -> int:
    """How often 1 is doubled until it is ``n_nodes`` or more: log2, rounded up."""
    return (n_nodes - 1).bit_length()


EXCHANGES: Mapping[str, Callable[[int], Amounts]] = {"ring": ring, "halving-doubling": halving_doubling, "tree": tree}
"""Forms of an all-reduce by name."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network to wait for.

    Attributes
    ----------
    latency_s, bytes_per_s : float
        Of one message, and of a node's link.
    exchange : str
        One of `EXCHANGES`.
    """

    latency_s: float = 5e-6
    bytes_per_s: float = 3e9
    exchange: str = "halving-doubling"

    def allreduce_s(self, n_params: int, n_nodes: int) -> float:
        """Time of an all-reduce of ``n_params`` fp32 numbers, 0 on one node; additions are not counted.

        References
        ----------
        Thakur, Rabenseifner and Gropp (2005), Optimization of collective communication operations in MPICH.
        """
        n_latencies, n_vectors = EXCHANGES[self.exchange](n_nodes)
        return n_latencies * self.latency_s + n_vectors * FP32_BYTES * n_params / self.bytes_per_s
