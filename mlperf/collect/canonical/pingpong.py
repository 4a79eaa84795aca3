"""One rank of the ping-pong: ``python -m mlperf.collect.canonical.pingpong FOLDER`` under mpiexec."""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.collect.trainer.launch import ANSWER, job_of_ranks, saying_why
from mlperf.core.extras import require
from mlperf.core.files import write_text_whole

WARM = 3


def main(folder: Path) -> None:
    """Exchange messages of every size between ranks i and i + n/2; the first rank writes what the slowest pair took."""
    comm = require("mpi4py.MPI", "mpi").COMM_WORLD
    with saying_why(folder, comm):
        measure(folder, comm)


def measure(folder: Path, comm: Any) -> None:
    """Messages of every size, there and back; the first rank writes the times."""
    job = job_of_ranks(folder, comm)
    n_pairs = comm.Get_size() // 2
    rank, is_first = comm.Get_rank(), comm.Get_rank() < n_pairs
    other = rank + n_pairs if is_first else rank - n_pairs
    times = []
    for size, n_trips in job["trips"]:
        buffer = np.zeros(size, dtype=np.uint8)
        comm.Barrier()
        own = [round_trip_s(comm, buffer, other, first=is_first) for _ in range(n_trips + WARM)][WARM:]
        every = comm.gather(own, root=0)
        if rank == 0:
            times.append([max(each) / 2.0 for each in zip(*every[:n_pairs], strict=True)])
    hosts = comm.gather(socket.gethostname(), root=0)
    if rank == 0:
        write_text_whole(folder / ANSWER, json.dumps({"times_s": times, "n_hosts": len(set(hosts))}))


def round_trip_s(comm: Any, buffer: Any, other: int, *, first: bool) -> float:
    """One message there and back, seconds."""
    begun = time.perf_counter()
    if first:
        comm.Send(buffer, other)
        comm.Recv(buffer, other)
    else:
        comm.Recv(buffer, other)
        comm.Send(buffer, other)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(Path(sys.argv[1]))
