"""Algorithm 1 of Oyama et al.: the thread that stands for one GPU."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlperf.collect.trainer.ledger import Ledger
from mlperf.collect.trainer.node import GradientBuffer, Node
from mlperf.collect.trainer.operations import GpuOperations
from mlperf.collect.trainer.rank.laps import Laps
from mlperf.collect.trainer.rank.marks import GpuMarks
from mlperf.collect.trainer.rank.pace import Pace


@dataclass(slots=True, eq=False)
class Worker:
    """One worker thread.

    Attributes
    ----------
    node : Node
        Its node.
    buffer : GradientBuffer
        Its own buffer.
    operations : GpuOperations
        What it does, or waits for.
    pace : Pace
        Whether it waits for updates.
    ledger : Ledger
        Gets a record an iteration.
    held_version : int
        Version of the weights it holds.
    iteration : int
        Iterations finished.
    marks : GpuMarks
        Shows a recorder the same times.
    """

    node: Node
    buffer: GradientBuffer
    operations: GpuOperations
    pace: Pace
    ledger: Ledger
    held_version: int = 0
    iteration: int = 0
    marks: GpuMarks = field(default_factory=GpuMarks)

    def run(self) -> None:
        """Iterate until the node stops; what ends it early is left for the update thread to raise."""
        try:
            while not self.node.stop.is_set():
                self.iterate()
        except BaseException as error:  # noqa: BLE001 - a thread has nobody to raise to
            self.node.failures.append(error)
        finally:
            self.ledger.close()

    def iterate(self) -> None:
        """Lines 2 to 17, each timed."""
        do, lap = self.operations, Laps()
        with self.node.weights_lock:
            waited_weights_s = lap()
            latest = self.node.version
            fetched = self.node.readable_version > self.held_version
            if fetched:
                do.fetch_weights()
                self.held_version = self.node.readable_version
            fetch_s = lap()
        lap()
        do.load_image(self.iteration)
        load_s = lap()
        do.deform_image()
        deform_s = lap()
        loss = do.compute_gradient()
        gradient_s = lap()
        do.compute_update_value()
        value_s = lap()
        with self.buffer.lock:
            waited_gradient_s = lap()
            do.update_gradient(bool(self.buffer.pending))
            self.buffer.pending.append((self.iteration, self.held_version))
            deposit_s = lap()
        times = (waited_weights_s, fetch_s, load_s, deform_s, gradient_s, value_s, waited_gradient_s, deposit_s)
        self.ledger.append((lap.start_s, *times, fetched, self.held_version, loss))
        self.marks.iteration(lap.start_s, times)
        self.iteration += 1
        self.pace.announce()
        self.pace.await_publication(latest)
