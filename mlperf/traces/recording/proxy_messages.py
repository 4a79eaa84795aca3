"""Probes of wrapped communicators: a receive of the message that was probed just before has waited since the probe began."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import WILDCARD
from mlperf.traces.recording.buffers import n_bytes
from mlperf.traces.recording.proxy_collectives import Collectives


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe that has found a message.

    Attributes
    ----------
    comm, source, tag : int
        The message: number of the communicator, rank in it, tag.
    start_ns : int
    flags : int
        Of the receive's record, if that follows.
    """

    comm: int
    source: int
    tag: int
    start_ns: int
    flags: int


class ProbedMessages(Collectives):
    """Probing, and receiving what was probed."""

    def _asked(self, source: int | None, tag: int | None, status: Any) -> tuple[int, int, Any]:
        """What is left out means anybody, any tag, and a status of our own."""
        mpi = self._own.mpi
        return (
            mpi.ANY_SOURCE if source is None else source,
            mpi.ANY_TAG if tag is None else tag,
            mpi.Status() if status is None else status,
        )

    def _wildcard(self, source: int, tag: int) -> int:
        mpi = self._own.mpi
        return WILDCARD if source == mpi.ANY_SOURCE or tag == mpi.ANY_TAG else 0

    def _found(self, name: str, start_ns: int, status: Any, source: int, tag: int) -> None:
        """Note a probe; it is written as a wait for no request where the next event is not the receive of its message."""
        own, peer = self._own, status.Get_source()
        if own.records and peer >= 0:
            site, end_ns = own.writer.site(2), time.monotonic_ns()
            own.probe = Probe(self._number, peer, status.Get_tag(), start_ns, self._wildcard(source, tag))
            own.writer.held = lambda: own.writer.event(Kind.WAIT, name, start_ns, end_ns, site=site)

    def _probed(self, start_ns: int, source: int, tag: int) -> tuple[int, int]:
        """When a receive has begun to wait, nanoseconds, and the flags of the probe that did so."""
        own, probe = self._own, self._own.probe
        if own.writer.held is None or probe is None or (probe.comm, probe.source, probe.tag) != (self._number, source, tag):
            return start_ns, 0
        own.writer.held = None
        return probe.start_ns, probe.flags

    def Probe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> bool:
        """As mpi4py's."""
        source, tag, status = self._asked(source, tag, status)
        start_ns = time.monotonic_ns()
        self._comm.Probe(source, tag, status)
        self._found("MPI_Probe", start_ns, status, source, tag)
        return True

    probe = Probe

    def Mprobe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> Any:
        """As mpi4py's."""
        source, tag, status = self._asked(source, tag, status)
        start_ns = time.monotonic_ns()
        message = self._comm.Mprobe(source, tag, status)
        self._found("MPI_Mprobe", start_ns, status, source, tag)
        return self._taken(message, status, source, tag)

    def mprobe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> Any:
        """As mpi4py's."""
        source, tag, status = self._asked(source, tag, status)
        start_ns = time.monotonic_ns()
        message = self._comm.mprobe(source, tag, status)
        self._found("MPI_Mprobe", start_ns, status, source, tag)
        return self._taken(message, status, source, tag)

    def Improbe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> Any:
        """As mpi4py's; it waits for nothing, and is no event."""
        source, tag, status = self._asked(source, tag, status)
        return self._taken(self._comm.Improbe(source, tag, status), status, source, tag)

    def improbe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> Any:
        """As mpi4py's; it waits for nothing, and is no event."""
        source, tag, status = self._asked(source, tag, status)
        return self._taken(self._comm.improbe(source, tag, status), status, source, tag)

    def _taken(self, message: Any, status: Any, source: int, tag: int) -> Any:
        """A probed message whose receive is recorded; None, and one from nowhere, as they are."""
        peer = -1 if message is None else status.Get_source()
        return message if peer < 0 else RecordedMessage(self, message, peer, status.Get_tag(), self._wildcard(source, tag))


class RecordedMessage:
    """A message that a probe has taken, and forwards everything to mpi4py's but its receives.

    Parameters
    ----------
    comm : RecordedComm
        Where it came.
    message : mpi4py.MPI.Message
        The plain message.
    source, tag : int
        Whose it is.
    flags : int
        Of the probe.
    """

    def __init__(self, comm: Any, message: Any, source: int, tag: int, flags: int) -> None:
        self._comm, self._message, self._source, self._tag, self._flags = comm, message, source, tag, flags

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)

    def Recv(self, buf: Any, status: Any = None) -> None:
        """As mpi4py's."""
        self._receives(lambda status: self._message.Recv(buf, status), status)

    def recv(self, status: Any = None) -> Any:
        """As mpi4py's."""
        return self._receives(self._message.recv, status)

    def _receives(self, call: Callable[[Any], Any], status: Any) -> Any:
        status = self._comm._own.mpi.Status() if status is None else status
        start_ns = time.monotonic_ns()
        found = call(status)
        end_ns = time.monotonic_ns()
        self._comm._received("MPI_Mrecv", start_ns, end_ns, status, self._source, self._tag, self._flags)
        return found

    def Irecv(self, buf: Any) -> Any:
        """As mpi4py's."""
        start_ns = time.monotonic_ns()
        request = self._message.Irecv(buf)
        return self._comm._posted(Kind.IRECV, "MPI_Imrecv", start_ns, request, n_bytes(buf), self._source, self._tag)

    def irecv(self) -> Any:
        """As mpi4py's."""
        start_ns = time.monotonic_ns()
        return self._comm._posted(Kind.IRECV, "MPI_Imrecv", start_ns, self._message.irecv(), 0, self._source, self._tag)
