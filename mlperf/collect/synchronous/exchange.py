"""Sums of a vector over all processes: MPI all-reduce, or torch's with gloo."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.core.errors import InterruptedRun
from mlperf.core.extras import require

REST_S = 1e-3


class Exchange(Protocol):
    """What a process needs of the others."""

    def meet(self) -> None:
        """Wait until every process is here."""
        ...

    def start_together(self) -> None:
        """Wait until every process is here and can begin at the same time."""
        ...

    def sum(self, values: Array) -> None:
        """Sum a vector over all processes, in place."""
        ...

    def agree(self, value: float) -> float:
        """The first process's number, on all."""
        ...

    def gather(self, values: Array) -> Array | None:
        """Arrays of all processes, stacked, on the first; None elsewhere."""
        ...


class MpiExchange:
    """MPI all-reduce.

    Parameters
    ----------
    comm : mpi4py communicator
        All ranks.
    yields : bool
        Whether a rank that waits gives its core away: where there are more ranks than cores, or the one that is waited for may
        not run.
    limit_s : float
        Longest wait of one that yields.
    """

    def __init__(self, comm: Any, *, yields: bool, limit_s: float) -> None:
        self._comm, self._yields, self._limit_s = comm, yields, limit_s
        self._in_place = require("mpi4py.MPI", "mpi").IN_PLACE

    def meet(self) -> None:
        """A barrier."""
        self._finish(self._comm.Ibarrier()) if self._yields else self._comm.Barrier()

    def start_together(self) -> None:
        """A barrier; and a short sleep where those that leave it first would keep the cores from the others."""
        self.meet()
        if self._yields:
            time.sleep(REST_S)

    def sum(self, values: Array) -> None:
        """All-reduce in place."""
        if self._yields:
            self._finish(self._comm.Iallreduce(self._in_place, values))
        else:
            self._comm.Allreduce(self._in_place, values)

    def agree(self, value: float) -> float:
        """Broadcast."""
        found = self._comm.bcast(value, root=0)
        return float(found)

    def gather(self, values: Array) -> Array | None:
        """Gather to the first rank."""
        parts = self._comm.gather(values, root=0)
        return None if parts is None else np.stack(parts)

    def _finish(self, request: Any) -> None:
        deadline_s = time.monotonic() + self._limit_s
        while not request.Test():
            if time.monotonic() > deadline_s:
                raise InterruptedRun(f"got no answer of the other ranks for {self._limit_s:g} s", place="all-reduce")
            os.sched_yield()


class GlooExchange:
    """torch.distributed with gloo, which meets through a file.

    Parameters
    ----------
    folder : Path
        Where the file lies.
    rank, n_processes : int
    limit_s : float
        Longest wait for another process.
    """

    def __init__(self, folder: Path, rank: int, n_processes: int, limit_s: float) -> None:
        from datetime import timedelta

        self._torch, self._dist = require("torch", "torch"), require("torch.distributed", "torch")
        self._n = n_processes
        place = (folder / "gloo").resolve().as_uri()
        limit = timedelta(seconds=limit_s)
        self._dist.init_process_group("gloo", init_method=place, rank=rank, world_size=n_processes, timeout=limit)

    def meet(self) -> None:
        """A barrier."""
        self._dist.barrier()

    def start_together(self) -> None:
        """A barrier; gloo waits without spinning."""
        self.meet()

    def sum(self, values: Array) -> None:
        """All-reduce in place: torch sees the array's own memory."""
        self._dist.all_reduce(self._torch.from_numpy(values))

    def agree(self, value: float) -> float:
        """Broadcast."""
        number = self._torch.tensor([value], dtype=self._torch.float64)
        self._dist.broadcast(number, src=0)
        return float(number[0])

    def gather(self, values: Array) -> Array | None:
        """Gather to every process, and keep it on the first."""
        own = self._torch.from_numpy(np.ascontiguousarray(values))
        parts = [self._torch.empty_like(own) for _ in range(self._n)]
        self._dist.all_gather(parts, own)
        return np.stack([part.numpy() for part in parts]) if self._dist.get_rank() == 0 else None
