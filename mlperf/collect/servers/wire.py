"""Messages between ranks: the moment of sending in front, received by polling with sleeps; and a link that is waited for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.collect.canonical.loops import Floats
from mlperf.core.errors import InterruptedRun

POLL_S, POLL_SHARE, POLL_MOST_S = 60e-6, 0.005, 1e-3
"""A wait is looked at again after sixty microseconds, or after a two hundredth of what it has lasted: ranks share cores."""

HEADER = 3
"""Numbers in front of the values: moment of sending, version of the weights, sender."""


@dataclass(frozen=True, slots=True)
class Link:
    """A network that is waited for; all seconds as they are waited.

    Attributes
    ----------
    latency_s : float
        C_ncost(1).
    latency_per_thread_s : float
        What every further thread adds: C_ncost(H).
    byte_s : float
        1 / C_nbw.
    """

    latency_s: float
    latency_per_thread_s: float
    byte_s: float

    def latency_of(self, n_threads: int) -> float:
        """C_ncost(H), seconds."""
        return self.latency_s + self.latency_per_thread_s * (n_threads - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """What came.

    Attributes
    ----------
    sent_s : float
        Reading of the performance counter at the sender: the same clock on one machine.
    version, sender : int
        Version of weights it tells, rank that sent it.
    values : array
        float32.
    """

    sent_s: float
    version: int
    sender: int
    values: Floats


class Wire:
    """One rank's messages.

    Parameters
    ----------
    comm : mpi4py communicator
        Ranks of the run.
    limit_s : float
        Longest wait for a message.
    """

    def __init__(self, comm: Any, limit_s: float) -> None:
        self._comm = comm
        self._limit_s = limit_s
        self._rank = comm.Get_rank()
        self._under_way: list[tuple[Any, Any]] = []

    def send(self, values: Floats, to: int, tag: int, version: int = 0, sent_s: float | None = None) -> None:
        """Hand over a message and go on."""
        buffer = np.empty(8 * HEADER + values.nbytes, dtype=np.uint8)
        buffer[: 8 * HEADER].view(np.float64)[:] = (time.perf_counter() if sent_s is None else sent_s, version, self._rank)
        buffer[8 * HEADER :].view(np.float32)[:] = values.ravel()
        self._under_way.append((self._comm.Isend(buffer, to, tag), buffer))
        if len(self._under_way) > 64:
            self._under_way = [each for each in self._under_way if not each[0].Test()]

    def receive(self, source: int, tag: int, n_values: int) -> Message:
        """Wait for one message of a known length."""
        buffer = np.empty(8 * HEADER + 4 * n_values, dtype=np.uint8)
        self.finish(self._comm.Irecv(buffer, source, tag))
        return opened(buffer)

    def find(self, tag: int, largest: int) -> Message | None:
        """A message with this tag from anyone, if there is one."""
        from mpi4py import MPI

        status = MPI.Status()
        if not self._comm.Iprobe(MPI.ANY_SOURCE, tag, status):
            return None
        count = status.Get_count(MPI.BYTE)
        if count > 8 * HEADER + 4 * largest:
            raise InterruptedRun(f"got a message of {count} bytes, expected at most {largest} values", place="server")
        buffer = np.empty(count, dtype=np.uint8)
        self.finish(self._comm.Irecv(buffer, status.Get_source(), tag))
        return opened(buffer)

    def flush(self) -> None:
        """Wait until everything sent was taken."""
        for request, _ in self._under_way:
            self.finish(request)
        self._under_way.clear()

    def meet(self) -> None:
        """Wait until every rank of the run is here."""
        self.finish(self._comm.Ibarrier())

    def finish(self, request: Any) -> None:
        """Test and sleep in turn until ``request`` is done.

        Raises
        ------
        InterruptedRun
            The other side did not come in time.
        """
        begun_s = time.monotonic()
        while not request.Test():
            waited_s = time.monotonic() - begun_s
            if waited_s > self._limit_s:
                raise InterruptedRun(f"got no message of another rank for {self._limit_s:g} s", place="mlperf collect ps")
            time.sleep(pause_s(waited_s))


def pause_s(waited_s: float) -> float:
    """How long to sleep before looking again, after having waited so long; seconds."""
    return min(POLL_MOST_S, max(POLL_S, POLL_SHARE * waited_s))


def opened(buffer: Any) -> Message:
    """Header and values of a message."""
    sent_s, version, sender = buffer[: 8 * HEADER].view(np.float64)
    return Message(float(sent_s), int(version), int(sender), buffer[8 * HEADER :].view(np.float32))
