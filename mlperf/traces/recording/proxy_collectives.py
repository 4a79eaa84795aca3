"""Collective operations of wrapped communicators; bytes are what the calling rank contributes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from mlperf.traces.events.kinds import Kind
from mlperf.traces.recording.buffers import n_bytes
from mlperf.traces.recording.proxy_recorder import ProxyRecorder


class Collectives:
    """Operations of all ranks of a communicator.

    Parameters
    ----------
    own : ProxyRecorder
        This rank's recorder.
    comm : mpi4py.MPI.Comm
        The plain communicator.
    """

    def __init__(self, own: ProxyRecorder, comm: Any) -> None:
        self._own, self._comm = own, comm
        self._number, self._world = own.new_comm(comm)
        self._n_operations = 0

    def _operation(self, name: str, size: int, root: int | None, call: Callable[[], Any]) -> Any:
        """Run an operation and record it; counted in any case, since the number tells which calls are one operation."""
        self._n_operations += 1
        start_ns = time.monotonic_ns()
        result = call()
        end_ns = time.monotonic_ns()
        own = self._own
        if own.records:
            peer = -1 if root is None else self._world[root] if 0 <= root < len(self._world) else -1
            where = {"peer": peer, "comm": self._number, "site": own.writer.site(2)}
            own.writer.event(Kind.COLL, name, start_ns, end_ns, size=size, number=self._n_operations, **where)
            own.writer.cost(end_ns)
        return result

    def _pickled(self, obj: Any) -> int:
        """Bytes of an object; it is pickled here once more."""
        return len(self._own.mpi.pickle.dumps(obj)) if self._own.records else 0

    def Barrier(self) -> None:
        """As mpi4py's."""
        self._operation("MPI_Barrier", 0, None, self._comm.Barrier)

    barrier = Barrier

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._operation("MPI_Bcast", n_bytes(buf), root, lambda: self._comm.Bcast(buf, root))

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """As mpi4py's."""
        mpi, is_root = self._own.mpi, self._comm.Get_rank() == root
        content = mpi.pickle.dumps(obj) if is_root else b""
        found = self._operation("MPI_Bcast", len(content), root, lambda: self._comm.bcast(content, root))
        return obj if is_root else mpi.pickle.loads(found)

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0) -> None:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        self._operation("MPI_Reduce", n_bytes(sendbuf), root, lambda: self._comm.Reduce(sendbuf, recvbuf, how, root))

    def reduce(self, sendobj: Any, op: Any = None, root: int = 0) -> Any:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        return self._operation("MPI_Reduce", self._pickled(sendobj), root, lambda: self._comm.reduce(sendobj, how, root))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        size = n_bytes(recvbuf) if isinstance(sendbuf, int) else n_bytes(sendbuf)
        self._operation("MPI_Allreduce", size, None, lambda: self._comm.Allreduce(sendbuf, recvbuf, how))

    def allreduce(self, sendobj: Any, op: Any = None) -> Any:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        return self._operation("MPI_Allreduce", self._pickled(sendobj), None, lambda: self._comm.allreduce(sendobj, how))

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._operation("MPI_Gather", n_bytes(sendbuf), root, lambda: self._comm.Gather(sendbuf, recvbuf, root))

    def gather(self, sendobj: Any, root: int = 0) -> Any:
        """As mpi4py's."""
        return self._operation("MPI_Gather", self._pickled(sendobj), root, lambda: self._comm.gather(sendobj, root))

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._operation("MPI_Scatter", n_bytes(recvbuf), root, lambda: self._comm.Scatter(sendbuf, recvbuf, root))

    def scatter(self, sendobj: Any, root: int = 0) -> Any:
        """As mpi4py's."""
        return self._operation("MPI_Scatter", self._pickled(sendobj), root, lambda: self._comm.scatter(sendobj, root))

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's."""
        self._operation("MPI_Allgather", n_bytes(sendbuf), None, lambda: self._comm.Allgather(sendbuf, recvbuf))

    def allgather(self, sendobj: Any) -> Any:
        """As mpi4py's."""
        return self._operation("MPI_Allgather", self._pickled(sendobj), None, lambda: self._comm.allgather(sendobj))

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's."""
        size = n_bytes(sendbuf, len(self._world))
        self._operation("MPI_Alltoall", size, None, lambda: self._comm.Alltoall(sendbuf, recvbuf))

    def alltoall(self, sendobj: Any) -> Any:
        """As mpi4py's."""
        return self._operation("MPI_Alltoall", self._pickled(sendobj), None, lambda: self._comm.alltoall(sendobj))
