"""Collectives that sleep while they wait: non-blocking calls, tested every quarter of a millisecond."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.core.errors import InterruptedRun

POLL_S = 250e-6


class Exchange:
    """What one rank exchanges with the others.

    Parameters
    ----------
    comm : mpi4py communicator
        All ranks of the run.
    limit_s : float
        Longest wait for the others.
    watch : callable
        Called between tests; raises where a worker of this rank has failed.
    """

    def __init__(self, comm: Any, limit_s: float, watch: Callable[[], None]) -> None:
        self._comm = comm
        self._limit_s = limit_s
        self._watch = watch

    def meet(self) -> None:
        """Wait until every rank is here."""
        self.finish(self._comm.Ibarrier())

    def count(self, n_gradients: int, *, stop: bool) -> tuple[int, bool]:
        """Gradients of all nodes, and whether any of them stops; the wait for the slowest node happens here."""
        own = np.array([n_gradients, stop], dtype=np.int64)
        total = np.zeros_like(own)
        self.finish(self._comm.Iallreduce(own, total))
        return int(total[0]), bool(total[1])

    def sum(self, send: Array, received: Array) -> None:
        """RecvBuf <- sum of SendBuf over the nodes (Algorithm 2, line 17)."""
        self.finish(self._comm.Iallreduce(send, received))

    def finish(self, request: Any) -> None:
        """Test and sleep in turn until ``request`` is done.

        Raises
        ------
        InterruptedRun
            The others did not come in time.
        """
        deadline_s = time.monotonic() + self._limit_s
        while not request.Test():
            self._watch()
            if time.monotonic() > deadline_s:
                raise InterruptedRun(f"got no answer of the other ranks for {self._limit_s:g} s", place="all-reduce")
            time.sleep(POLL_S)
