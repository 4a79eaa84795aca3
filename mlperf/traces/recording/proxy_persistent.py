"""Persistent requests of wrapped communicators: every start is a message that is posted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlperf.core.extras import require
from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import OPEN
from mlperf.traces.recording.proxy_recorder import ProxyRecorder
from mlperf.traces.recording.proxy_requests import Post, RecordedRequest, plain_requests, recorder_of


@dataclass(frozen=True, slots=True)
class Message:
    """What every start of a request posts anew.

    Attributes
    ----------
    kind : Kind
        ISEND or IRECV.
    size : int
        Bytes; of a receive the room for them, until one has come.
    peer, tag : int
        Rank of the world, and tag; -1 for any.
    comm : int
        The communicator's number in the file.
    flags : int
        Of the record.
    """

    kind: Kind
    size: int
    peer: int
    tag: int
    comm: int
    flags: int


class RecordedPrequest(RecordedRequest):
    """A persistent request that forwards everything to mpi4py's and records its starts, too.

    Several are started by this class, ``comm.Prequest.Startall(requests)``: mpi4py's own cannot be recorded.

    Parameters
    ----------
    own : ProxyRecorder
        This rank's recorder.
    request : mpi4py.MPI.Prequest
        The plain request.
    message : Message or None
        None where it goes nowhere.
    world : list of int
        Ranks of the world by rank of the communicator.
    """

    def __init__(self, own: ProxyRecorder, request: Any, message: Message | None, world: list[int]) -> None:
        super().__init__(own, request, Post(-1, False, world, 0))
        self._message, self._world = message, world

    def Start(self) -> None:
        """As mpi4py's."""
        start_ns = time.monotonic_ns()
        self._request.Start()
        self._started("MPI_Start", start_ns, time.monotonic_ns())

    @classmethod
    def Startall(cls, requests: Sequence[Any]) -> None:
        """As mpi4py's."""
        own, plain = recorder_of(requests), plain_requests(requests)
        mpi = require("mpi4py.MPI", "mpi") if own is None else own.mpi
        start_ns = time.monotonic_ns()
        mpi.Prequest.Startall(plain)
        end_ns = time.monotonic_ns()
        for each in requests:
            if isinstance(each, RecordedPrequest):
                each._started("MPI_Startall", start_ns, end_ns)

    def _started(self, name: str, start_ns: int, end_ns: int) -> None:
        """Record a start; its wait completes the record."""
        own, message = self._own, self._message
        if message is None or not own.records:
            self._post = Post(-1, False, self._world, 0)
            return
        where = {"peer": message.peer, "tag": message.tag, "comm": message.comm, "site": own.writer.site(2)}
        place = own.writer.event(message.kind, name, start_ns, end_ns, size=message.size, flags=message.flags | OPEN, **where)
        own.writer.cost(end_ns)
        self._post = Post(place, message.kind == Kind.IRECV, self._world, message.flags)
