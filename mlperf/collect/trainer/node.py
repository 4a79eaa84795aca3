"""What the threads of one node share: the latest weights, one gradient buffer a worker, and their mutexes."""

from __future__ import annotations

from collections import deque
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
    history : deque of array
        The latest versions, oldest first, where workers read delayed weights; else empty.
    stop : Event
        Workers finish their iteration and leave.
    failures : list of BaseException
        What ended a worker early; the update thread raises it.
    """

    latest: Array
    buffers: tuple[GradientBuffer, ...]
    weights_lock: Lock = field(default_factory=Lock)
    version: int = 0
    history: deque[Array] = field(default_factory=deque)
    stop: Event = field(default_factory=Event)
    failures: list[BaseException] = field(default_factory=list)

    @property
    def readable(self) -> Array:
        """The weights that workers read: the latest, or the oldest that are kept."""
        return self.history[0] if self.history else self.latest

    @property
    def readable_version(self) -> int:
        """Version of `readable`."""
        return self.version - max(len(self.history) - 1, 0)

    def publish(self) -> None:
        """Count a new version of ``latest``; to be called with the lock held."""
        self.version += 1
        if self.history:
            self.history.append(self.latest.copy())

    def watch(self) -> None:
        """Raise what ended a worker."""
        if self.failures:
            raise self.failures[0]


def new_node(latest: Array, n_workers: int, n_buffered: int, delay: int = 0) -> Node:
    """A node at version 0 with empty buffers of ``n_buffered`` numbers, whose workers read weights ``delay`` updates old."""
    buffers = (GradientBuffer(Lock(), np.zeros(n_buffered, dtype=np.float32), []) for _ in range(n_workers))
    history = deque([latest.copy()], maxlen=delay + 1) if delay else deque[Array]()
    return Node(latest, tuple(buffers), history=history)
