"""Messages that mpi4py posts in other ways than talk.py: persistent requests, buffered and synchronous sends, some of several."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from mlperf.traces.recording.mpi_proxy import wrap

comm = wrap(MPI.COMM_WORLD)
rank, size = comm.Get_rank(), comm.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size
room, out = np.zeros(1000, dtype="u1"), np.full(70, rank, dtype="u1")
pair = [comm.Recv_init(room, before, 13), comm.Send_init(out, after, 13)]
for _turn in range(3):
    comm.Prequest.Startall(pair)
    comm.Request.Waitall(pair)
    assert room[:70].tolist() == [before] * 70
    out[:] = rank
    for request in pair:
        request.Start()
    while not comm.Request.Testall(pair):
        pass
anybody = comm.Recv_init([np.zeros(25, dtype="i4"), MPI.INT])
nowhere = comm.Send_init(out, MPI.PROC_NULL, 15)
synchronous = comm.Ssend_init([np.zeros(10, dtype="i4"), MPI.INT], after, 14)
for request in (anybody, nowhere, synchronous):
    request.Start()
left = [synchronous, MPI.REQUEST_NULL, anybody, nowhere]
done = set()
while some := comm.Request.Waitsome(left):
    done |= set(some)
assert done >= {0, 2}
comm.Pcontrol(0)
unseen = comm.Recv_init(room, before, 16)
unseen.Start()
comm.Send(out, after, 16)
unseen.Wait()
comm.Pcontrol(1)
comm.Barrier()
unseen.Start()
comm.Send(out, after, 16)
index, found = comm.Request.Testany([unseen])
while not found:
    index, found = comm.Request.Testany([unseen])
assert index == 0
MPI.Attach_buffer(bytearray(10_000))
posted = [comm.Issend(out, after, 17), comm.Ibsend(out, after, 17), comm.issend({"a": 1}, after, 18), comm.ibsend([2], after, 18)]
comm.Bsend(out, after, 17)
comm.bsend("three", after, 18)
for _ in range(3):
    comm.Recv(room, before, 17)
assert [comm.recv(source=before, tag=18) for _ in range(3)] == [{"a": 1}, [2], "three"]
comm.Request.waitall(posted)
given_up = comm.Irecv(room, before, 99)
given_up.Cancel()
given_up.Wait()
assert comm.Request.Waitall([]) is True
assert comm.Request.waitall([]) == []
assert comm.Request.Waitany([MPI.REQUEST_NULL]) == MPI.UNDEFINED
for request in (*pair, anybody, nowhere, synchronous, unseen):
    request.Free()
comm.Barrier()
MPI.Detach_buffer()
