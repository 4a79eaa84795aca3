"""What the threads of one node share: the latest weights, one gradient buffer a worker, and their mutexes."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event, Lock

import numpy as np

from mlperf.collect.cnn_engine.builder import Array


@dataclass(slots=True, eq=False)
class GradientBuffer:
    """GradBuf_t: the sum of the update values that no update has used yet.

    Attributes
    ----------
    lock : Lock
        Held while values are added or taken.
    values : array, shape (n_params,)
        Means something only while ``pending`` is not empty.
    pending : list of (int, int)
        Iteration of the worker and version of the weights it read, for each gradient in the sum.
    """

    lock: Lock
    values: Array
    pending: list[tuple[int, int]]


@dataclass(slots=True, eq=False)
class Node:
    """Shared memory of one rank.

    Attributes
    ----------
    latest : array, shape (n_params,)
        LatestWeights.
    weights_lock : Lock
        Held while weights are copied or replaced.
    version : int
        Updates that ``latest`` has seen.
    buffers : tuple of GradientBuffer
        One for each worker.
    stop : Event
        Workers finish their iteration and leave.
    failures : list of BaseException
        What ended a worker early; the update thread raises it.
    """

    latest: Array
    buffers: tuple[GradientBuffer, ...]
    weights_lock: Lock = field(default_factory=Lock)
    version: int = 0
    stop: Event = field(default_factory=Event)
    failures: list[BaseException] = field(default_factory=list)

    def watch(self) -> None:
        """Raise what ended a worker."""
        if self.failures:
            raise self.failures[0]


def new_node(latest: Array, n_workers: int, n_buffered: int) -> Node:
    """A node at version 0 with empty buffers of ``n_buffered`` numbers."""
    buffers = (GradientBuffer(Lock(), np.zeros(n_buffered, dtype=np.float32), []) for _ in range(n_workers))
    return Node(latest, tuple(buffers))
