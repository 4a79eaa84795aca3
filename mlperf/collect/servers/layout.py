"""Who hosts what, and who sends which rows to whom: everything that follows from a network and a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlperf.collect.servers.net import Net
from mlperf.systems.model_parallel.plans import LayerPlan

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows ``first`` to ``last`` (not included) of a layer below, exchanged with worker ``worker``."""

    worker: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Layout:
    """One replica.

    Attributes
    ----------
    net : Net
        Layers.
    plan : tuple of LayerPlan
        One a layer.
    """

    net: Net
    plan: tuple[LayerPlan, ...]

    @property
    def n_workers(self) -> int:
        """Workers of the replica."""
        return max(layer.n_hosts for layer in self.plan)

    def place(self, number: int, worker: int) -> tuple[int, int] | None:
        """Copy and stripe of layer ``number`` that a worker hosts; None where it hosts none."""
        plan = self.plan[number]
        return divmod(worker, plan.n_stripes) if worker < plan.n_hosts else None

    def host(self, number: int, stripe: int, sample: int) -> int:
        """The worker that computes a stripe of layer ``number`` for a sample."""
        plan = self.plan[number]
        return (sample % plan.n_copies) * plan.n_stripes + stripe

    def rows(self, number: int, stripe: int) -> Span:
        """Rows of a stripe."""
        return self.net.layers[number].bounds(self.plan[number].n_stripes, stripe)

    def needs(self, number: int, stripe: int) -> Span:
        """Rows of the layer below that a stripe reads."""
        below, _ = self.net.rows_below(number)
        return self.net.layers[number].needs(*self.rows(number, stripe), below)

    def below(self, number: int, stripe: int, sample: int) -> list[Piece]:
        """Which workers hold the rows that a stripe of layer ``number`` reads of layer ``number - 1``, in the order of the rows."""
        return self._shared(self.needs(number, stripe), self.rows, number - 1, sample)

    def above(self, number: int, stripe: int, sample: int) -> list[Piece]:
        """Which workers read rows of a stripe of layer ``number`` for layer ``number + 1``, in the order of their stripes."""
        return self._shared(self.rows(number, stripe), self.needs, number + 1, sample)

    def _shared(self, own: Span, of_stripe: Callable[[int, int], Span], other: int, sample: int) -> list[Piece]:
        """What rows have in common with those of each stripe of layer ``other``."""
        found = []
        for stripe in range(self.plan[other].n_stripes):
            first, last = of_stripe(other, stripe)
            if max(first, own[0]) < min(last, own[1]):
                found.append(Piece(self.host(other, stripe, sample), max(first, own[0]), min(last, own[1])))
        return found

    def members(self, number: int, worker: int) -> list[int]:
        """Workers that hold the same parameters of layer ``number`` as ``worker``: copies of ``fc`` stripes, all of ``conv``."""
        plan = self.plan[number]
        if self.net.layers[number].kind == "conv":
            return list(range(plan.n_hosts))
        return list(range(worker % plan.n_stripes, plan.n_hosts, plan.n_stripes))

    def segment(self, number: int, worker: int) -> Span:
        """Where a worker's parameters of layer ``number`` lie in the vector of all."""
        return self.net.layers[number].span(self.plan[number].n_stripes, worker % self.plan[number].n_stripes)

    def slices(self, number: int, worker: int) -> list[Span]:
        """How the members share a segment, in the order of the members; places in the vector of all."""
        start, stop = self.segment(number, worker)
        count = len(self.members(number, worker))
        return [(start + (stop - start) * k // count, start + (stop - start) * (k + 1) // count) for k in range(count)]

    def owned(self, worker: int) -> list[Span]:
        """What a worker pushes and pulls: its slice of every layer that it hosts."""
        found = []
        for number, layer in enumerate(self.net.layers):
            if layer.n_params and self.place(number, worker) is not None:
                found.append(self.slices(number, worker)[self.members(number, worker).index(worker)])
        return found


def shards(n_params: int, n_servers: int) -> list[Span]:
    """Equal parts of the vector, one a server."""
    return [(n_params * s // n_servers, n_params * (s + 1) // n_servers) for s in range(n_servers)]


def common(spans: Sequence[Span], shard: Span) -> list[Span]:
    """Parts of ``spans`` inside ``shard``."""
    cut = [(max(start, shard[0]), min(stop, shard[1])) for start, stop in spans]
    return [(start, stop) for start, stop in cut if start < stop]
