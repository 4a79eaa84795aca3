"""A pure-Python recorder for mpi4py: a communicator that forwards everything and times what it says to other ranks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import OPEN, PAIRED
from mlperf.traces.recording.buffers import n_bytes
from mlperf.traces.recording.proxy_collectives import TIMED
from mlperf.traces.recording.proxy_messages import ProbedMessages
from mlperf.traces.recording.proxy_persistent import Message, RecordedPrequest
from mlperf.traces.recording.proxy_recorder import recorder
from mlperf.traces.recording.proxy_requests import Post, RecordedRequest, posted
from mlperf.traces.recording.regions import recorder_is_loaded

MAKERS = re.compile(
    r"I?[dD]up(_with_info)?|Clone|Split(_type)?|Create(_(group|cart|graph|dist_graph|dist_graph_adjacent|intercomm))?|Merge|Sub"
)
"""Methods that make communicators."""
CALLER = 3
"""Frames between the program's call and where its place is asked for."""


def wrap(comm: Any) -> Any:
    """Record what goes through an mpi4py communicator.

    All ranks of the world call it first together (it reads their clocks); the file of each rank is completed when Python ends,
    where all read the clocks again. Messages through the plain communicator are not seen. Of operations that are posted, are of
    neighbours only, or are made first and started later, the times of calls and waits alone are recorded; the notes say how many.
    Several requests are started and waited for by ``comm.Prequest.Startall`` and ``comm.Request.Waitall``; windows and files take
    ``unwrap(comm)``. Does nothing where the PMPI library is loaded.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        A communicator.

    Returns
    -------
    RecordedComm
        Has every attribute of ``comm``; communicators made from it are wrapped too. Objects of the lower-case calls are pickled
        once, here, so that their size is known.

    Examples
    --------
    ``comm = wrap(MPI.COMM_WORLD)``, and everything else as before;
    ``mlperf trace record -o run --proxy -- mpiexec -n 4 python program.py`` says where the files go.
    """
    return comm if recorder_is_loaded() else RecordedComm(recorder(), comm)


def unwrap(comm: Any) -> Any:
    """The communicator of mpi4py behind a wrapped one; any other object as it is.

    For functions of mpi4py that take nothing but its own communicators: windows, files, comparisons. What goes through them is
    not seen.

    Examples
    --------
    ``MPI.Win.Create(memory, comm=unwrap(comm))``, ``MPI.File.Open(unwrap(comm), "out.bin")``.
    """
    return comm._comm if isinstance(comm, RecordedComm) else comm


class RecordedComm(ProbedMessages):
    """A wrapped communicator."""

    Request = RecordedRequest
    Prequest = RecordedPrequest

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._comm, name)
        if MAKERS.fullmatch(name):
            return self._making(found)
        return self._kept(name, found) if TIMED.fullmatch(name) else found

    def _making(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method whose communicator is wrapped; the null communicator is not."""

        def made(*args: Any, **kwargs: Any) -> Any:
            plain = [unwrap(each) for each in args]
            found = method(*plain, **{name: unwrap(each) for name, each in kwargs.items()})
            if isinstance(found, tuple):
                made, request = found
                return RecordedComm(self._own, made, like=self._comm), posted(self._own, request)
            return RecordedComm(self._own, found) if found != self._own.mpi.COMM_NULL else found

        return made

    def Pcontrol(self, level: int) -> None:
        """Switch recording off (0) and on."""
        self._own.selection.is_on = level != 0

    def _sends(self, name: str, call: Callable[..., Any], buf: Any, dest: int, tag: int) -> None:
        start_ns = time.monotonic_ns()
        call(buf, dest, tag)
        self._sent(name, start_ns, time.monotonic_ns(), n_bytes(buf), dest, tag)

    def _sent(self, name: str, start_ns: int, end_ns: int, size: int, dest: int, tag: int, flags: int = 0, number: int = 0) -> None:
        """Record a send."""
        own = self._own
        if own.records and dest >= 0:
            where = {"peer": self._world[dest], "tag": tag, "comm": self._number, "site": own.writer.site(CALLER)}
            own.writer.event(Kind.SEND, name, start_ns, end_ns, size=size, flags=flags, number=number, **where)
            own.writer.cost(end_ns)

    def _received(
        self, name: str, start_ns: int, end_ns: int, status: Any, source: int, tag: int, flags: int = 0, number: int = 0
    ) -> None:
        """Record a receive."""
        own = self._own
        peer = status.Get_source()
        if own.records and peer >= 0:
            start_ns, probe_flags = self._probed(start_ns, peer, status.Get_tag())
            flags |= self._wildcard(source, tag) | probe_flags
            where = {"peer": self._world[peer], "tag": status.Get_tag(), "comm": self._number, "site": own.writer.site(CALLER)}
            size = status.Get_count(own.mpi.BYTE)
            own.writer.event(Kind.RECV, name, start_ns, end_ns, size=size, flags=flags, number=number, **where)
            own.writer.cost(end_ns)

    def _posted(
        self, kind: Kind, name: str, start_ns: int, request: Any, size: int, peer: int, tag: int, kept: Any = None
    ) -> RecordedRequest:
        """Record a post; its wait completes the record."""
        own, end_ns = self._own, time.monotonic_ns()
        place, flags = -1, self._wildcard(peer, tag)
        if own.records and peer != own.mpi.PROC_NULL:
            where = {"peer": self._world[peer] if peer >= 0 else -1, "tag": max(tag, -1), "comm": self._number}
            place = own.writer.event(kind, name, start_ns, end_ns, size=size, flags=flags | OPEN, site=own.writer.site(2), **where)
            own.writer.cost(end_ns)
        # The buffer of a lower-case send is ours: it must live as long as its request.
        return RecordedRequest(own, request, Post(place, kind == Kind.IRECV, self._world, flags), kept)

    def _persistent(self, kind: Kind, request: Any, size: int, peer: int, tag: int) -> RecordedPrequest:
        """A request whose starts are recorded."""
        if peer == self._own.mpi.PROC_NULL:
            return RecordedPrequest(self._own, request, None, self._world)
        rank = self._world[peer] if peer >= 0 else -1
        message = Message(kind, size, rank, max(tag, -1), self._number, self._wildcard(peer, tag))
        return RecordedPrequest(self._own, request, message, self._world)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        self._sends("MPI_Send", self._comm.Send, buf, dest, tag)

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        self._sends("MPI_Bsend", self._comm.Bsend, buf, dest, tag)

    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        self._sends("MPI_Rsend", self._comm.Rsend, buf, dest, tag)

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        self._sends("MPI_Ssend", self._comm.Ssend, buf, dest, tag)

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        mpi = self._own.mpi
        self._sends("MPI_Send", self._comm.Send, [mpi.pickle.dumps(obj), mpi.BYTE], dest, tag)

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        mpi = self._own.mpi
        self._sends("MPI_Ssend", self._comm.Ssend, [mpi.pickle.dumps(obj), mpi.BYTE], dest, tag)

    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        mpi = self._own.mpi
        self._sends("MPI_Bsend", self._comm.Bsend, [mpi.pickle.dumps(obj), mpi.BYTE], dest, tag)

    def Recv(self, buf: Any, source: int | None = None, tag: int | None = None, status: Any = None) -> None:
        """As mpi4py's."""
        source, tag, status = self._asked(source, tag, status)
        start_ns = time.monotonic_ns()
        self._comm.Recv(buf, source, tag, status)
        self._received_here("MPI_Recv", start_ns, status, source, tag)

    def recv(self, buf: Any = None, source: int | None = None, tag: int | None = None, status: Any = None) -> Any:
        """As mpi4py's; the wait is in its probe."""
        source, tag, status = self._asked(source, tag, status)
        start_ns = time.monotonic_ns()
        found = self._comm.recv(buf, source, tag, status)
        self._received_here("MPI_Recv", start_ns, status, source, tag)
        return found

    def _received_here(self, name: str, start_ns: int, status: Any, source: int, tag: int) -> None:
        """Record a receive that has just ended."""
        self._received(name, start_ns, time.monotonic_ns(), status, source, tag)

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> None:
        """As mpi4py's."""
        source, recvtag, status = self._asked(source, recvtag, status)
        start_ns = time.monotonic_ns()
        self._comm.Sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag, status)
        self._both(start_ns, n_bytes(sendbuf), dest, sendtag, status, source, recvtag)

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> Any:
        """As mpi4py's; pickled once more to know the size."""
        source, recvtag, status = self._asked(source, recvtag, status)
        size = len(self._own.mpi.pickle.dumps(sendobj))
        start_ns = time.monotonic_ns()
        found = self._comm.sendrecv(sendobj, dest, sendtag, recvbuf, source, recvtag, status)
        self._both(start_ns, size, dest, sendtag, status, source, recvtag)
        return found

    def _both(self, start_ns: int, size: int, dest: int, sendtag: int, status: Any, source: int, recvtag: int) -> None:
        """Both halves of a call that sends and receives."""
        end_ns, number = time.monotonic_ns(), self._own.number()
        flags = PAIRED if dest >= 0 and status.Get_source() >= 0 else 0
        self._sent("MPI_Sendrecv", start_ns, end_ns, size, dest, sendtag, flags, number)
        self._received("MPI_Sendrecv", start_ns, end_ns, status, source, recvtag, flags, number)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> None:
        """As mpi4py's."""
        source, recvtag, status = self._asked(source, recvtag, status)
        start_ns = time.monotonic_ns()
        self._comm.Sendrecv_replace(buf, dest, sendtag, source, recvtag, status)
        self._both(start_ns, n_bytes(buf), dest, sendtag, status, source, recvtag)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> RecordedRequest:
        """As mpi4py's."""
        start_ns = time.monotonic_ns()
        return self._posted(Kind.ISEND, "MPI_Isend", start_ns, self._comm.Isend(buf, dest, tag), n_bytes(buf), dest, tag)

    def isend(self, obj: Any, dest: int, tag: int = 0) -> RecordedRequest:
        """As mpi4py's."""
        mpi = self._own.mpi
        content = mpi.pickle.dumps(obj)
        start_ns = time.monotonic_ns()
        request = self._comm.Isend([content, mpi.BYTE], dest, tag)
        return self._posted(Kind.ISEND, "MPI_Isend", start_ns, request, len(content), dest, tag, content)

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> RecordedRequest:
        """As mpi4py's."""
        start_ns = time.monotonic_ns()
        return self._posted(Kind.ISEND, "MPI_Issend", start_ns, self._comm.Issend(buf, dest, tag), n_bytes(buf), dest, tag)

    def issend(self, obj: Any, dest: int, tag: int = 0) -> RecordedRequest:
        """As mpi4py's."""
        mpi = self._own.mpi
        content = mpi.pickle.dumps(obj)
        start_ns = time.monotonic_ns()
        request = self._comm.Issend([content, mpi.BYTE], dest, tag)
        return self._posted(Kind.ISEND, "MPI_Issend", start_ns, request, len(content), dest, tag, content)

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> RecordedRequest:
        """As mpi4py's."""
        start_ns = time.monotonic_ns()
        return self._posted(Kind.ISEND, "MPI_Ibsend", start_ns, self._comm.Ibsend(buf, dest, tag), n_bytes(buf), dest, tag)

    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> RecordedRequest:
        """As mpi4py's."""
        mpi = self._own.mpi
        content = mpi.pickle.dumps(obj)
        start_ns = time.monotonic_ns()
        request = self._comm.Ibsend([content, mpi.BYTE], dest, tag)
        return self._posted(Kind.ISEND, "MPI_Ibsend", start_ns, request, len(content), dest, tag, content)

    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> RecordedRequest:
        """As mpi4py's."""
        start_ns = time.monotonic_ns()
        return self._posted(Kind.ISEND, "MPI_Irsend", start_ns, self._comm.Irsend(buf, dest, tag), n_bytes(buf), dest, tag)

    def Irecv(self, buf: Any, source: int | None = None, tag: int | None = None) -> RecordedRequest:
        """As mpi4py's."""
        source, tag, _ = self._asked(source, tag, False)
        start_ns = time.monotonic_ns()
        return self._posted(Kind.IRECV, "MPI_Irecv", start_ns, self._comm.Irecv(buf, source, tag), n_bytes(buf), source, tag)

    def irecv(self, buf: Any = None, source: int | None = None, tag: int | None = None) -> RecordedRequest:
        """As mpi4py's."""
        source, tag, _ = self._asked(source, tag, False)
        start_ns = time.monotonic_ns()
        return self._posted(Kind.IRECV, "MPI_Irecv", start_ns, self._comm.irecv(buf, source, tag), 0, source, tag)

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> RecordedPrequest:
        """As mpi4py's; a message is posted at each start."""
        return self._persistent(Kind.ISEND, self._comm.Send_init(buf, dest, tag), n_bytes(buf), dest, tag)

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> RecordedPrequest:
        """As mpi4py's; a message is posted at each start."""
        return self._persistent(Kind.ISEND, self._comm.Ssend_init(buf, dest, tag), n_bytes(buf), dest, tag)

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> RecordedPrequest:
        """As mpi4py's; a message is posted at each start."""
        return self._persistent(Kind.ISEND, self._comm.Bsend_init(buf, dest, tag), n_bytes(buf), dest, tag)

    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> RecordedPrequest:
        """As mpi4py's; a message is posted at each start."""
        return self._persistent(Kind.ISEND, self._comm.Rsend_init(buf, dest, tag), n_bytes(buf), dest, tag)

    def Recv_init(self, buf: Any, source: int | None = None, tag: int | None = None) -> RecordedPrequest:
        """As mpi4py's; a message is posted at each start."""
        source, tag, _ = self._asked(source, tag, False)
        return self._persistent(Kind.IRECV, self._comm.Recv_init(buf, source, tag), n_bytes(buf), source, tag)
