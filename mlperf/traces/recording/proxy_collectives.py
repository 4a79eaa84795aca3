"""Collective operations of wrapped communicators; bytes are what the calling rank contributes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import POSTED
from mlperf.traces.recording.buffers import n_bytes
from mlperf.traces.recording.proxy_persistent import RecordedPrequest
from mlperf.traces.recording.proxy_recorder import ProxyRecorder
from mlperf.traces.recording.proxy_requests import posted

TIMED = re.compile(
    r"I(barrier|[bB]cast|reduce(_scatter(_block)?)?|allreduce|(ex)?scan|(all)?gatherv?|scatterv?|alltoall[vw]?)"
    r"|I?[nN]eighbor_\w+|Isendrecv(_replace)?|\w+_init"
)
"""Methods whose calls are recorded by their time alone: operations that are posted, of neighbours only, or made to be started."""


class Collectives:
    """Operations of all ranks of a communicator.

    Parameters
    ----------
    own : ProxyRecorder
        This rank's recorder.
    comm : mpi4py.MPI.Comm
        The plain communicator.
    like : mpi4py.MPI.Comm, optional
        One of the same members, where ``comm`` may not be asked yet.
    """

    def __init__(self, own: ProxyRecorder, comm: Any, like: Any = None) -> None:
        self._own, self._comm = own, comm
        self._number, self._world = own.new_comm(comm if like is None else like)
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

    def _kept(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of mpi4py's whose time alone is recorded, and that of its wait: who waits for whom in it is not known."""
        is_waited, is_made = name.startswith("I"), name.endswith("_init")

        def call(*args: Any, **kwargs: Any) -> Any:
            start_ns = time.monotonic_ns()
            result = method(*args, **kwargs)
            end_ns, own = time.monotonic_ns(), self._own
            if own.records:
                own.writer.event(
                    Kind.COLL, f"MPI_{name}", start_ns, end_ns, comm=self._number, flags=POSTED, site=own.writer.site(1)
                )
                own.writer.cost(end_ns)
            return RecordedPrequest(own, result, None, []) if is_made else posted(own, result) if is_waited else result

        return call

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
        mpi, is_inter = self._own.mpi, self._comm.Is_inter()
        is_root = root == (mpi.ROOT if is_inter else self._comm.Get_rank())
        content = mpi.pickle.dumps(obj) if is_root else b""
        found = self._operation("MPI_Bcast", len(content), root, lambda: self._comm.bcast(content, root))
        if is_root and not is_inter:
            return obj
        return None if found is None else mpi.pickle.loads(found)

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

    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._operation("MPI_Gatherv", n_bytes(sendbuf), root, lambda: self._comm.Gatherv(sendbuf, recvbuf, root))

    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._operation("MPI_Scatterv", n_bytes(recvbuf), root, lambda: self._comm.Scatterv(sendbuf, recvbuf, root))

    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's."""
        self._operation("MPI_Allgatherv", n_bytes(sendbuf), None, lambda: self._comm.Allgatherv(sendbuf, recvbuf))

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's."""
        size = n_bytes(recvbuf) if isinstance(sendbuf, int) else n_bytes(sendbuf)
        self._operation("MPI_Alltoallv", size, None, lambda: self._comm.Alltoallv(sendbuf, recvbuf))

    def Alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's; the bytes are those of the whole buffer."""
        self._operation("MPI_Alltoallw", n_bytes(sendbuf), None, lambda: self._comm.Alltoallw(sendbuf, recvbuf))

    def Reduce_scatter(self, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = None) -> None:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        size = n_bytes(recvbuf) if isinstance(sendbuf, int) else n_bytes(sendbuf)
        self._operation("MPI_Reduce_scatter", size, None, lambda: self._comm.Reduce_scatter(sendbuf, recvbuf, recvcounts, how))

    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        size = n_bytes(recvbuf) if isinstance(sendbuf, int) else n_bytes(sendbuf)
        self._operation("MPI_Reduce_scatter_block", size, None, lambda: self._comm.Reduce_scatter_block(sendbuf, recvbuf, how))

    def Scan(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        size = n_bytes(recvbuf) if isinstance(sendbuf, int) else n_bytes(sendbuf)
        self._operation("MPI_Scan", size, None, lambda: self._comm.Scan(sendbuf, recvbuf, how))

    def scan(self, sendobj: Any, op: Any = None) -> Any:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        return self._operation("MPI_Scan", self._pickled(sendobj), None, lambda: self._comm.scan(sendobj, how))

    def Exscan(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        size = n_bytes(recvbuf) if isinstance(sendbuf, int) else n_bytes(sendbuf)
        self._operation("MPI_Exscan", size, None, lambda: self._comm.Exscan(sendbuf, recvbuf, how))

    def exscan(self, sendobj: Any, op: Any = None) -> Any:
        """As mpi4py's."""
        how = self._own.mpi.SUM if op is None else op
        return self._operation("MPI_Exscan", self._pickled(sendobj), None, lambda: self._comm.exscan(sendobj, how))
