"""How far ahead workers may run: freely, or in lockstep with the updates."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition

from mlperf.collect.trainer.node import Node

WAKE_S = 0.1
"""Waits look up so often, in case a thread has failed."""


class FreePace:
    """Nobody waits: SPRINT as published."""

    def await_gradients(self) -> None:
        """Return at once: the update thread takes what is there."""

    def announce(self) -> None:
        """A gradient or new weights are there; nobody waits for them."""

    def await_publication(self, version: int) -> None:
        """Return at once: the worker goes on with what it holds."""


class Lockstep:
    """An update waits for a gradient of every worker, a worker for the update that used its own.

    Parameters
    ----------
    node : Node
        Whose version and buffers are looked at.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._changed = Condition()

    def await_gradients(self) -> None:
        """Wait until every buffer holds a gradient."""
        self._until(lambda: all(buffer.pending for buffer in self._node.buffers))

    def announce(self) -> None:
        """Wake whoever waits."""
        with self._changed:
            self._changed.notify_all()

    def await_publication(self, version: int) -> None:
        """Wait until the weights are newer than ``version``."""
        self._until(lambda: self._node.version > version)

    def _until(self, holds: Callable[[], bool]) -> None:
        with self._changed:
            while not (holds() or self._node.stop.is_set() or self._node.failures):
                self._changed.wait(WAKE_S)


Pace = FreePace | Lockstep
