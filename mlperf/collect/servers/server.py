"""A parameter server: one message at a time, received, added and answered."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlperf.collect.canonical.loops import VALUE_BYTES, Floats
from mlperf.collect.servers.exchange import PULL, PUSH, STOP
from mlperf.collect.servers.layout import Span
from mlperf.collect.servers.wire import Link, Message, Wire, pause_s
from mlperf.collect.trainer.waits import Sleeper
from mlperf.core.errors import InterruptedRun


@dataclass(slots=True, eq=False)
class Server:
    """One server.

    Attributes
    ----------
    wire : Wire
        Messages.
    shard : (int, int)
        What it holds of the vector of all.
    weights : array, shape (stop - start,)
        Its part.
    parts : mapping of int to sequence of (int, int)
        By worker of a replica: which places its messages are of; workers without any are left out.
    n_workers, n_replicas : int
        n and A; rank a n + j is worker j of replica a.
    synchronous : bool
        Whether the gradients of all replicas are added before anyone is answered.
    rate : float
        What a gradient, a sum over a mini-batch, is multiplied by.
    link : Link or None
        Network that is waited for.
    sleeper : Sleeper
        Waits.
    add_s : callable or None
        Seconds to wait for adding so many values; None: it takes what it takes.
    limit_s : float
        Longest silence.
    """

    wire: Wire
    shard: Span
    weights: Floats
    parts: Mapping[int, Sequence[Span]]
    n_workers: int
    n_replicas: int
    synchronous: bool
    rate: float
    link: Link | None
    sleeper: Sleeper
    add_s: Callable[[int], float] | None
    limit_s: float
    staleness: list[int] = field(default_factory=list)
    n_applied: int = 0
    _version: Counter[int] = field(default_factory=Counter)
    _waiting: list[Message] = field(default_factory=list)
    _held: list[Message] = field(default_factory=list)

    def run(self) -> None:
        """Serve until every worker of every replica has stopped.

        Raises
        ------
        InterruptedRun
            Nothing came for too long.
        """
        n_left, heard_s = self.n_workers * self.n_replicas, time.monotonic()
        while n_left or self._waiting:
            self.collect()
            if self._waiting:
                self._waiting.sort(key=lambda message: message.sent_s)
                self.serve(self._waiting.pop(0))
                heard_s = time.monotonic()
            elif self.wire.find(STOP, 0):
                n_left -= 1
            elif time.monotonic() > heard_s + self.limit_s:
                raise InterruptedRun(f"got no gradient for {self.limit_s:g} s", place="server")
            else:
                time.sleep(pause_s(time.monotonic() - heard_s))

    def collect(self) -> None:
        """Take all gradients that are there."""
        while message := self.wire.find(PUSH, len(self.weights)):
            self._waiting.append(message)

    def serve(self, message: Message) -> None:
        """Receive and add one gradient; answer it, or with it all that waited for the last one of a round."""
        begun_s = time.perf_counter()
        transfer_s = self.link.byte_s * message.values.nbytes if self.link else 0.0
        # A message that came while the server was busy has passed its latency, but not its turn on the link.
        start_s = max(begun_s, message.sent_s + self.link.latency_s) if self.link else begun_s
        self.apply(message)
        wait_s = self.add_s(len(message.values)) if self.add_s else 0.0
        if self.link or self.add_s:
            self.sleeper(start_s + transfer_s + wait_s - begun_s, begun_s)
        if not self.synchronous:
            self.answer(message)
            return
        self._held.append(message)
        if len(self._held) == self.n_replicas * len(self.parts):
            for each in self._held:
                self.answer(each)
            self._held.clear()

    def apply(self, message: Message) -> None:
        """W += rate * gradient (eq. 4), in the places that the worker owns."""
        worker, done = message.sender % self.n_workers, 0
        for start, stop in self.parts[worker]:
            place = slice(start - self.shard[0], stop - self.shard[0])
            self.weights[place] += np.float32(self.rate) * message.values[done : done + stop - start]
            done += stop - start
        self.n_applied += 1
        if not self.synchronous:
            self.staleness.append(self._version[worker] - message.version)
            self._version[worker] += 1

    def answer(self, message: Message) -> None:
        """Send the worker its places of the weights as they are now."""
        worker = message.sender % self.n_workers
        values = np.concatenate([self.weights[start - self.shard[0] : stop - self.shard[0]] for start, stop in self.parts[worker]])
        begun_s = time.perf_counter()
        self.wire.send(values, message.sender, PULL, self._version[worker], begun_s)
        if self.link:
            self.sleeper(self.link.byte_s * VALUE_BYTES * len(values), begun_s)
