"""Algorithm 2 of Oyama et al.: the thread that adds gradients, exchanges them and publishes new weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlperf.collect.trainer.exchange import Exchange
from mlperf.collect.trainer.job import Job
from mlperf.collect.trainer.ledger import Ledger
from mlperf.collect.trainer.node import Node
from mlperf.collect.trainer.operations import UpdateOperations
from mlperf.collect.trainer.rank.laps import Laps
from mlperf.collect.trainer.rank.marks import mark_update
from mlperf.collect.trainer.rank.pace import Pace

Use = tuple[int, int, int, int]


@dataclass(slots=True, eq=False)
class Updater:
    """The update thread of one node.

    Attributes
    ----------
    job : Job
        When to stop.
    node : Node
        Its node.
    operations : UpdateOperations
        What it does, or waits for.
    exchange : Exchange
        The other nodes.
    pace : Pace
        Whether it waits for gradients.
    updates, uses : Ledger
        A record an update, and one for each gradient used.
    epoch_over : callable
        ``epoch_over(n_samples)`` after each update that ends an epoch, outside of all timed parts.
    n_samples : int
        Samples that all nodes have used.
    """

    job: Job
    node: Node
    operations: UpdateOperations
    exchange: Exchange
    pace: Pace
    updates: Ledger
    uses: Ledger
    epoch_over: Callable[[int], None]
    n_samples: int = 0

    def run(self) -> None:
        """Update until one of the limits is reached."""
        stop = False
        while not stop:
            self.pace.await_gradients()
            self.node.watch()
            stop = self.update()

    def update(self) -> bool:
        """Lines 2 to 21, each timed; returns whether this was the last update."""
        do, lap = self.operations, Laps()
        waited_gradient_s, sum_s, n_added, uses = self.sum_gradients(lap)
        do.update_old_weights()
        old_s = lap()
        do.add_momentum()
        momentum_s = lap()
        n_gradients, stop = self.exchange.count(len(uses), stop=self.enough())
        barrier_s = lap()
        do.allreduce()
        payload_s = lap()
        do.update_momentum()
        delta_s = lap()
        with self.node.weights_lock:
            waited_weights_s = lap()
            do.update_weights()
            self.node.publish()
            publish_s = lap()
        times = (waited_gradient_s, sum_s, old_s, momentum_s, barrier_s, payload_s, delta_s, waited_weights_s, publish_s)
        mark_update(lap.start_s, times)
        self.updates.append((lap.start_s, *times, n_added, len(uses), n_gradients))
        for use in uses:
            self.uses.append(use)
        self.count_samples(n_gradients)
        self.pace.announce()
        return stop

    def sum_gradients(self, lap: Laps) -> tuple[float, float, int, list[Use]]:
        """Lines 2 to 14: waits and sums in seconds, buffers added, and the gradients in them."""
        do, update = self.operations, self.node.version
        waited_s, sum_s, n_added = 0.0, 0.0, 0
        uses: list[Use] = []
        for gpu, buffer in enumerate(self.node.buffers):
            with buffer.lock:
                waited_s += lap()
                taken, buffer.pending = buffer.pending, []
                if taken:
                    do.sum_gradient(gpu)
                    n_added += 1
                elif gpu == 0:
                    do.clear()
                sum_s += lap()
            uses.extend((gpu, iteration, version, update) for iteration, version in taken)
        return waited_s, sum_s, n_added, uses

    def enough(self) -> bool:
        """Whether the update under way is to be the last one, as far as this node knows."""
        by_updates = 0 < self.job.max_updates <= self.node.version + 1
        return by_updates or 0 < self.job.max_samples <= self.n_samples

    def count_samples(self, n_gradients: int) -> None:
        """Add up samples; tell where an epoch ends."""
        epoch = self.n_samples // self.job.dataset_size
        self.n_samples += n_gradients * self.job.subbatch_size
        if self.n_samples // self.job.dataset_size > epoch:
            self.epoch_over(self.n_samples)
