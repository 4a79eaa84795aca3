"""What talk.c says, by mpi4py and the proxy; words: the folder of the package, then what the tests want."""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

from mlperf.traces.recording.mpi_proxy import wrap
from mlperf.traces.recording.regions import region

comm = wrap(MPI.COMM_WORLD)
rank, size = comm.Get_rank(), comm.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size
for turn in range(3):
    with region("loop"):
        comm.Barrier()
        with region("inner"):
            requests = [comm.Irecv(np.zeros(1000, dtype="u1"), before, 11), comm.Isend(np.zeros(500, dtype="u1"), after, 11)]
            comm.Request.Waitall(requests)
            request = comm.Irecv([np.zeros(100, dtype="i4"), MPI.INT])
            comm.Send([np.zeros(25, dtype="i4"), 25, MPI.INT], after, 12)
            request.Wait()
    if turn == 1 and "crash" in sys.argv and rank == 1:
        MPI.COMM_WORLD.Abort(5)
        time.sleep(60)  # MPICH only asks the launcher: until that ends the rank, it would go on.
comm.Pcontrol(0)
comm.Barrier()
comm.Pcontrol(1)
if rank == 0:
    comm.send({"words": "x" * 50}, 1, 21)
if rank == 1:
    status = MPI.Status()
    assert comm.recv(status=status) == {"words": "x" * 50}
    assert status.Get_source() == 0
half = comm.Split(rank % 2, -rank)
own, members = half.Get_rank(), half.Get_size()
half.Sendrecv(np.zeros(200, dtype="u1"), (own + 1) % members, 31, np.zeros(200, dtype="u1"), (own - 1) % members, 31)
total = np.zeros(1)
half.Allreduce(np.array([float(rank)]), total)
assert total[0] == sum(each for each in range(size) if each % 2 == rank % 2)
assert half.bcast(rank, 0) == max(each for each in range(size) if each % 2 == rank % 2)
assert comm.gather(rank, size - 1) == (list(range(size)) if rank == size - 1 else None)
later = comm.isend([1, 2], after, 41)
assert comm.irecv(source=before, tag=41).wait() == [1, 2]
later.wait()
assert comm.allreduce(1) == size
