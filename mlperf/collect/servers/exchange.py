"""A worker's side of the exchange with the servers: gradients pushed, weights pulled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mlperf.collect.canonical.loops import VALUE_BYTES, Floats
from mlperf.collect.servers.layout import Span, common
from mlperf.collect.servers.wire import Link, Wire
from mlperf.collect.trainer.waits import Sleeper

PUSH, PULL, STOP = 1, 2, 3
FIRST_FREE_TAG = 10


@dataclass(slots=True, eq=False)
class Exchange:
    """Pushes and pulls of one worker.

    Attributes
    ----------
    wire : Wire
        Messages.
    owned : sequence of (int, int)
        Slices of the vector of all parameters that the worker pushes and pulls.
    shards : sequence of (int, int)
        What each server holds.
    first_server : int
        Rank of the first of them.
    link : Link or None
        Network that is waited for; None: the real one.
    sleeper : Sleeper
        Waits.
    """

    wire: Wire
    owned: Sequence[Span]
    shards: Sequence[Span]
    first_server: int
    link: Link | None
    sleeper: Sleeper
    versions: dict[int, int] = field(default_factory=dict)
    pulled: dict[int, int] = field(default_factory=dict)
    n_pushed: int = 0
    is_open: bool = False
    _begun_s: float = 0.0
    _parts: dict[int, list[Span]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, shard in enumerate(self.shards):
            parts = common(self.owned, shard)
            if parts:
                self._parts[number] = parts
                self.versions[number] = 0

    @property
    def n_bytes(self) -> int:
        """What is pushed, and pulled, at a time."""
        return VALUE_BYTES * sum(stop - start for start, stop in self.owned)

    def push(self, gradient: Floats) -> None:
        """Send the own slices of a gradient, in the order of ``owned``, to the servers that hold them."""
        self._begun_s, sent = time.perf_counter(), 0
        for number, parts in self._parts.items():
            values = np.concatenate([gradient[self.at(start) : self.at(start) + stop - start] for start, stop in parts])
            delay_s = self.link.byte_s * sent if self.link else 0.0
            self.wire.send(values, self.first_server + number, PUSH, self.versions[number], self._begun_s + delay_s)
            sent += values.nbytes
            self.n_pushed += 1
        self.is_open = True

    def at(self, place: int) -> int:
        """Where a place of the vector of all lies among the own slices, one behind the other."""
        before = 0
        for start, stop in self.owned:
            if start <= place < stop:
                return before + place - start
            before += stop - start
        raise IndexError(place)

    def pull(self, weights: Floats) -> None:
        """Wait for the weights that answer the last push, and put them in place of the own slices."""
        free_s = 0.0
        for number, parts in self._parts.items():
            count = sum(stop - start for start, stop in parts)
            message = self.wire.receive(self.first_server + number, PULL, count)
            self.pulled[number] = message.version
            if self.link:
                free_s = max(free_s, message.sent_s + self.link.latency_s) + self.link.byte_s * VALUE_BYTES * count
            done = 0
            for start, stop in parts:
                weights[self.at(start) : self.at(start) + stop - start] = message.values[done : done + stop - start]
                done += stop - start
        if self.link:
            both_ways_s = 2.0 * (self.link.latency_s + self.link.byte_s * self.n_bytes)
            end_s = max(free_s, self._begun_s + both_ways_s)
            if end_s > time.perf_counter():
                self.sleeper(end_s - time.perf_counter())
        self.is_open = False

    def hold(self) -> None:
        """The weights pulled last are what the next gradient is computed from."""
        self.versions.update(self.pulled)

    def stop(self) -> None:
        """Tell every server that nothing more will come."""
        for number in range(len(self.shards)):
            self.wire.send(np.zeros(0, dtype=np.float32), self.first_server + number, STOP)
