"""One worker of a replica: its segments of all layers forward and backward, sample by sample, then the exchange of weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlperf.collect.canonical.loops import VALUE_BYTES, Floats
from mlperf.collect.servers.exchange import FIRST_FREE_TAG, Exchange
from mlperf.collect.servers.layout import Layout
from mlperf.collect.servers.segments import Segment
from mlperf.collect.servers.wire import Link, Wire
from mlperf.collect.trainer.waits import Sleeper
from mlperf.core.errors import UsageError

FORWARD, BACKWARD = 0, 1
Draw = Callable[[int, str], float]


@dataclass(slots=True, eq=False)
class Worker:
    """One rank.

    Attributes
    ----------
    layout : Layout
        The replica.
    worker, first_rank : int
        Which of its workers, and the rank of its first one.
    segments : list
        Of `mlperf.collect.servers.segments.segments_of`.
    wire : Wire
        Messages.
    link : Link or None
        Network that is waited for.
    draw : callable or None
        ``draw(layer, pass)`` gives the seconds that one thread is to take; None: loops take what they take.
    sleeper : Sleeper
        Waits.
    minibatch_size : int
        B.
    rate : float
        What a summed gradient is multiplied by where no server does it.
    exchange : Exchange or None
        With the servers.
    synchronous : bool
        Whether the exchange is waited for at once.
    pool : executor or None
        Threads of a segment; None: one after the other.
    """

    layout: Layout
    worker: int
    first_rank: int
    segments: Sequence[Segment | None]
    wire: Wire
    link: Link | None
    draw: Draw | None
    sleeper: Sleeper
    minibatch_size: int
    rate: float
    exchange: Exchange | None
    synchronous: bool
    pool: ThreadPoolExecutor | None
    ends_s: list[float] = field(default_factory=list)
    _local: dict[tuple[int, int, int], Floats] = field(default_factory=dict)
    _arrived_s: float = 0.0
    _n_bytes: int = 0

    def train(self, images: Floats, targets: Floats) -> None:
        """One mini-batch: ``images`` of shape (B, rows, values of a row), ``targets`` of shape (B, outputs)."""
        for segment in self.segments:
            if segment is not None:
                for wave in segment.waves(self.minibatch_size):
                    self.forward(segment, wave, images)
        for segment in reversed(self.segments):
            if segment is not None:
                for wave in segment.waves(self.minibatch_size):
                    self.backward(segment, wave, targets)
        self.share()
        self.ends_s.append(time.perf_counter())

    def forward(self, segment: Segment, wave: list[int], images: Floats) -> None:
        """One sample in each thread: receive, compute, send."""
        self.begin()
        inputs = [self.inputs(segment, sample, images) for sample in wave]
        self.transfer(segment)
        begun_s = time.perf_counter()
        self.each(lambda thread: segment.forward(thread, wave[thread], inputs[thread]), len(wave))
        self.work(segment, len(wave), ("forward",), begun_s)
        if segment.number + 1 < len(self.segments):
            first, _ = self.layout.rows(segment.number, segment.stripe)
            for sample in wave:
                out = segment.activations[sample].reshape(-1, self.layout.net.layers[segment.number].per)
                for piece in self.layout.above(segment.number, segment.stripe, sample):
                    self.hand_over(FORWARD, segment.number + 1, sample, piece.worker, out[piece.first - first : piece.last - first])

    def inputs(self, segment: Segment, sample: int, images: Floats) -> Floats:
        """Rows of the layer below that a segment reads."""
        number = segment.number
        low, high = self.layout.needs(number, segment.stripe)
        if number == 0:
            found: Floats = images[sample, low:high]
            return found
        _, per = self.layout.net.rows_below(number)
        parts = [
            self.fetch(FORWARD, number, sample, piece.worker, (piece.last - piece.first) * per)
            for piece in self.layout.below(number, segment.stripe, sample)
        ]
        joined: Floats = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return joined

    def backward(self, segment: Segment, wave: list[int], targets: Floats) -> None:
        """One sample in each thread: receive the parts of its errors, compute error terms and gradient, send parts below."""
        self.begin()
        received = [self.errors(segment, sample, targets) for sample in wave]
        self.transfer(segment)
        begun_s, is_first = time.perf_counter(), segment.number == 0
        found = self.each(lambda thread: segment.backward(thread, wave[thread], received[thread], is_first=is_first), len(wave))
        passes = ["update"] if segment.weights.size else []
        passes += ["error"] if segment.kind != "pool" else []
        self.work(segment, len(wave), (*passes, *(() if is_first else ("product",))), begun_s)
        if not is_first:
            low, _ = self.layout.needs(segment.number, segment.stripe)
            _, per = self.layout.net.rows_below(segment.number)
            for sample, part in zip(wave, found, strict=True):
                rows = part.reshape(-1, per)
                for piece in self.layout.below(segment.number, segment.stripe, sample):
                    self.hand_over(BACKWARD, segment.number - 1, sample, piece.worker, rows[piece.first - low : piece.last - low])

    def errors(self, segment: Segment, sample: int, targets: Floats) -> Floats:
        """What reaches a segment's outputs: eq. 2 at the top, else the sum of the parts of all stripes above, in their order."""
        first, last = self.layout.rows(segment.number, segment.stripe)
        if segment.number + 1 == len(self.segments):
            difference: Floats = targets[sample, first:last] - segment.activations[sample].ravel()
            return difference
        per = self.layout.net.layers[segment.number].per
        total: Floats = np.zeros((last - first, per), dtype=np.float32)
        for piece in self.layout.above(segment.number, segment.stripe, sample):
            part = self.fetch(BACKWARD, segment.number, sample, piece.worker, (piece.last - piece.first) * per)
            total[piece.first - first : piece.last - first] += part.reshape(-1, per)
        return total.reshape(segment.activations[sample].shape)

    def each(self, run: Callable[[int], Any], count: int) -> list[Any]:
        """Run every thread's part."""
        return list(self.pool.map(run, range(count))) if self.pool and count > 1 else [run(thread) for thread in range(count)]

    def tag(self, direction: int, number: int, sample: int) -> int:
        """Of the messages of one sample between two layers."""
        return FIRST_FREE_TAG + (number * 2 + direction) * self.minibatch_size + sample

    def hand_over(self, direction: int, number: int, sample: int, worker: int, values: Floats) -> None:
        """Give rows to the worker that reads them; by a message where it is another one."""
        if worker == self.worker:
            key = (direction, number, sample)
            self._local[key] = np.ascontiguousarray(values).ravel()
        else:
            self.wire.send(np.ascontiguousarray(values), self.first_rank + worker, self.tag(direction, number, sample))

    def fetch(self, direction: int, number: int, sample: int, worker: int, count: int) -> Floats:
        """Rows that another worker, or this one, has handed over."""
        if worker == self.worker:
            return self._local.pop((direction, number, sample))
        message = self.wire.receive(self.first_rank + worker, self.tag(direction, number, sample), count)
        self._arrived_s = max(self._arrived_s, message.sent_s)
        self._n_bytes += message.values.nbytes
        return message.values

    def begin(self) -> None:
        """What is received from here on is one transfer."""
        self._arrived_s, self._n_bytes = time.perf_counter(), 0

    def transfer(self, segment: Segment) -> None:
        """Wait for the emulated link: one latency, and all bytes of the wave (eq. 6 with H threads on one link)."""
        if self.link and self._n_bytes:
            end_s = self._arrived_s + self.link.latency_of(segment.n_threads) + self.link.byte_s * self._n_bytes
            self.sleeper(end_s - self._arrived_s, self._arrived_s)

    def work(self, segment: Segment, n_threads: int, passes: Sequence[str], begun_s: float) -> None:
        """Wait until the slowest thread would be done."""
        if self.draw:
            draw = self.draw
            self.sleeper(max(sum(draw(segment.number, each) for each in passes) for _ in range(n_threads)), begun_s)

    def share(self) -> None:
        """Sum gradients over those that hold the same parameters, update them here or at the servers, share them again."""
        held = [segment for segment in self.segments if segment is not None and segment.weights.size]
        parts = [self.reduce(segment) for segment in held]
        weights = [segment.weights[self.own(segment)] for segment in held]
        if self.exchange is None:
            for own, part in zip(weights, parts, strict=True):
                own += np.float32(self.rate) * part
        else:
            self.exchange_with_servers(held, parts)
        for segment in held:
            self.gather(segment)

    def exchange_with_servers(self, held: Sequence[Segment], parts: Sequence[Floats]) -> None:
        """Push the gradient; weights pulled now (synchronous) or at the last push (asynchronous) replace the own slices."""
        exchange = self.exchange
        if exchange is None:
            raise UsageError("got no servers to exchange weights with")
        gradient = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
        pulled: Floats = np.concatenate([segment.weights[self.own(segment)] for segment in held]) if held else gradient
        if exchange.is_open:
            exchange.pull(pulled)
        exchange.push(gradient)
        if self.synchronous:
            exchange.pull(pulled)
        exchange.hold()
        done = 0
        for segment in held:
            place = self.own(segment)
            segment.weights[place] = pulled[done : done + place.stop - place.start]
            done += place.stop - place.start

    def own(self, segment: Segment) -> slice:
        """The own slice of a segment's parameters."""
        members = self.layout.members(segment.number, self.worker)
        start, stop = self.layout.slices(segment.number, self.worker)[members.index(self.worker)]
        first, _ = self.layout.segment(segment.number, self.worker)
        return slice(start - first, stop - first)

    def reduce(self, segment: Segment) -> Floats:
        """Sum over the members of the own slice of the gradient, in their order."""
        return self.around(segment, segment.gradient(), spread=True)

    def gather(self, segment: Segment) -> None:
        """Take the other members' slices of the weights."""
        self.around(segment, segment.weights, spread=False)

    def around(self, segment: Segment, values: Floats, *, spread: bool) -> Floats:
        """One half of a ring: give every member its slice and add what they give (``spread``), or give all the own slice."""
        members = self.layout.members(segment.number, self.worker)
        first, _ = self.layout.segment(segment.number, self.worker)
        places = [slice(start - first, stop - first) for start, stop in self.layout.slices(segment.number, self.worker)]
        own = places[members.index(self.worker)]
        if len(members) == 1:
            return values
        self.begin()
        tag = self.tag(FORWARD if spread else BACKWARD, len(self.segments) + segment.number, 0)
        for member, place in zip(members, places, strict=True):
            if member != self.worker:
                self.wire.send(values[place] if spread else values[own], self.first_rank + member, tag)
        total: Floats = np.zeros(own.stop - own.start, dtype=np.float32)
        for member, place in zip(members, places, strict=True):
            if member == self.worker:
                total += values[own]
                continue
            count = own.stop - own.start if spread else place.stop - place.start
            message = self.wire.receive(self.first_rank + member, tag, count)
            self._arrived_s = max(self._arrived_s, message.sent_s)
            if spread:
                total += message.values
            else:
                values[place] = message.values
        if self.link:
            steps = len(members) - 1
            bytes_each = VALUE_BYTES * values.size / len(members)
            self.sleeper(steps * (self.link.latency_s + bytes_each * self.link.byte_s), self._arrived_s)
        return total

    def finish(self) -> None:
        """Wait for the last answer, tell the servers that this was all."""
        if self.exchange is not None:
            if self.exchange.is_open:
                count = sum(stop - start for start, stop in self.exchange.owned)
                self.exchange.pull(np.zeros(count, dtype=np.float32))
            self.exchange.stop()
        self.wire.flush()
