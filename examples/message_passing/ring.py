"""Ranks in a ring smooth a field: each computes on its own part, exchanges borders, and all agree on the largest change.

    mpiexec -n 2 python ring.py
    mlperf trace record -o run --proxy -- mpiexec -n 2 python ring.py --record

Computation is done, not waited for. Rank 0 prints the seconds from a common start to the end of the last rank.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

from mlperf.traces.recording.regions import region

N_STEPS, SIZE = 100, 200_000


def main(recorded: bool) -> None:
    """Run the steps."""
    comm = MPI.COMM_WORLD
    if recorded:
        from mlperf.traces.recording.mpi_proxy import wrap

        comm = wrap(comm)
    rank, n_ranks = comm.Get_rank(), comm.Get_size()
    field, border = np.random.default_rng(rank).random(SIZE), np.zeros(8192)
    change, largest = np.zeros(1), np.zeros(1)
    comm.Barrier()
    begun_s = time.perf_counter()
    with region("smooth"):
        for _ in range(N_STEPS):
            smooth = 0.5 * field + 0.25 * (np.roll(field, 1) + np.roll(field, -1))
            comm.Sendrecv(smooth[:8192].copy(), (rank + 1) % n_ranks, 0, border, (rank - 1) % n_ranks, 0)
            smooth[-8192:] = 0.5 * (smooth[-8192:] + border)
            change[0] = np.abs(smooth - field).max()
            comm.Allreduce(change, largest, MPI.MAX)
            field = smooth
    elapsed_s = comm.allreduce(time.perf_counter() - begun_s, MPI.MAX)
    if rank == 0:
        print(f"time_s {elapsed_s:.6f}", flush=True)


if __name__ == "__main__":
    main("--record" in sys.argv[1:])
