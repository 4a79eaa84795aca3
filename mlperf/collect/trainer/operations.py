"""What Algorithms 1 and 2 do on their vectors, one callable a component; any of them may be a wait instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.engine import TrainingStep
from mlperf.collect.trainer.deform import deform
from mlperf.collect.trainer.exchange import Exchange
from mlperf.collect.trainer.job import Job
from mlperf.collect.trainer.node import GradientBuffer, Node
from mlperf.collect.trainer.replica import Replica
from mlperf.collect.trainer.shards import Shard
from mlperf.specs.network.layer import NETWORK_INPUT

Operations = TypeVar("Operations", "GpuOperations", "UpdateOperations")


@dataclass(frozen=True, slots=True)
class GpuOperations:
    """Algorithm 1 by component; ``load_image`` gets the iteration, ``update_gradient`` whether the buffer holds a sum already."""

    fetch_weights: Callable[[], object]
    load_image: Callable[[int], object]
    deform_image: Callable[[], object]
    compute_gradient: Callable[[], float]
    compute_update_value: Callable[[], object]
    update_gradient: Callable[[bool], object]


@dataclass(frozen=True, slots=True)
class UpdateOperations:
    """Algorithm 2 by component; ``sum_gradient`` gets the worker's number, ``clear`` stands for lines 10 and 11."""

    sum_gradient: Callable[[int], object]
    clear: Callable[[], object]
    update_old_weights: Callable[[], object]
    add_momentum: Callable[[], object]
    allreduce: Callable[[], object]
    update_momentum: Callable[[], object]
    update_weights: Callable[[], object]


def with_waits(operations: Operations, waits: Mapping[str, Callable[..., Any]]) -> Operations:
    """The same operations with waits in place of those named; names of the other algorithm are left alone."""
    own = {field.name for field in fields(operations)}
    return replace(operations, **{name: wait for name, wait in waits.items() if name in own})


class Pictures:
    """Loads, deforms and differentiates: the part of Algorithm 1 that needs images.

    Parameters
    ----------
    job : Job
        The run.
    shards : Path
        Folder of the nodes' images.
    node, gpu : int
        Whose samples and draws.
    step : TrainingStep
        Whose inputs are filled.
    """

    def __init__(self, job: Job, shards: Path, node: int, gpu: int, step: TrainingStep) -> None:
        self._seeds = (job.seed, node, gpu)
        self._shift, self._scale = job.shift, job.scale
        self._shard = Shard(shards, node, job.subbatch_size)
        self._step = step
        self._rng = np.random.default_rng(0)

    def load(self, iteration: int) -> None:
        """Read samples (line 7); every iteration has its own seed, so any of them can be repeated alone."""
        self._rng = np.random.default_rng((*self._seeds, iteration))
        self._step.labels[:] = self._shard.load(self._rng)

    def deform(self) -> None:
        """Shift and scale them into the network's input (line 8)."""
        deform(self._shard.images, self._rng, self._shift, self._scale, self._step.values[NETWORK_INPUT])

    def compute(self) -> float:
        """Forward and backward (line 9); returns the mean loss."""
        self._step.run()
        return float(self._step.loss[0])

    def close(self) -> None:
        """Close the file of images."""
        self._shard.close()


def nothing(*_: object) -> float:
    """Stand where a wait will be put."""
    return float("nan")


def gpu_operations(
    pictures: Pictures | None, replica: Replica, node: Node, buffer: GradientBuffer, learning_rate: float
) -> GpuOperations:
    """Algorithm 1 as it is; without ``pictures`` their three components are for waits to fill."""

    def update_gradient(accumulate: bool) -> None:
        if accumulate:
            np.add(buffer.values, replica.update, out=buffer.values)
        else:
            np.copyto(buffer.values, replica.update)

    return GpuOperations(
        fetch_weights=lambda: replica.fetch(node.readable),
        load_image=pictures.load if pictures else nothing,
        deform_image=pictures.deform if pictures else nothing,
        compute_gradient=pictures.compute if pictures else nothing,
        compute_update_value=lambda: replica.compute_update_value(learning_rate),
        update_gradient=update_gradient,
    )


class UpdateVectors:
    """Vectors of the update thread of one node.

    Parameters
    ----------
    node : Node
        Whose buffers are summed and whose weights are replaced.
    share : slice
        The part of the parameters whose old weights and momentum this node adds.
    momentum : float
        nu.
    """

    def __init__(self, node: Node, share: slice, momentum: float) -> None:
        self.node, self.share, self.momentum = node, share, np.float32(momentum)
        self.send: Array = np.zeros_like(node.latest)
        self.received: Array = np.zeros_like(node.latest)
        size = node.latest[share].size
        self.old, self.delta, self._scratch = (np.zeros(size, dtype=np.float32) for _ in range(3))

    def sum_gradient(self, gpu: int) -> None:
        """SendBuf <- GradBuf_1, or SendBuf + GradBuf_t (lines 6, 8)."""
        if gpu == 0:
            np.copyto(self.send, self.node.buffers[0].values)
        else:
            np.add(self.send, self.node.buffers[gpu].values, out=self.send)

    def add_momentum(self) -> None:
        """SendBuf_n <- SendBuf_n + OldWeights_n + nu DeltaWeights_n (line 16)."""
        own = self.send[self.share]
        np.multiply(self.delta, self.momentum, out=self._scratch)
        np.add(self._scratch, self.old, out=self._scratch)
        np.add(own, self._scratch, out=own)


def update_operations(vectors: UpdateVectors, exchange: Exchange) -> UpdateOperations:
    """Algorithm 2 as it is."""
    node, share = vectors.node, vectors.share
    return UpdateOperations(
        sum_gradient=vectors.sum_gradient,
        clear=lambda: vectors.send.fill(0.0),
        update_old_weights=lambda: np.copyto(vectors.old, node.latest[share]),
        add_momentum=vectors.add_momentum,
        allreduce=lambda: exchange.sum(vectors.send, vectors.received),
        update_momentum=lambda: np.subtract(vectors.received[share], vectors.old, out=vectors.delta),
        update_weights=lambda: np.copyto(node.latest, vectors.received),
    )


def share_of(n_params: int, n_nodes: int, node: int) -> slice:
    """The parameters that ``node`` owns: contiguous, sizes differ by one at most."""
    ends = [n_params * number // n_nodes for number in (node, node + 1)]
    return slice(*ends)
