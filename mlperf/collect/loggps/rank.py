"""One of two ranks: ``python -m mlperf.collect.loggps.rank FOLDER`` under mpiexec."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.collect.trainer.launch import ANSWER, job_of_ranks, saying_why
from mlperf.core.extras import require
from mlperf.core.files import write_text_whole

WARM = 3
FLOOD, FLOOD_BYTES = 200, 1
LATE_S = 0.0005
"""How much later than the other a rank comes that is to find it there; with large messages, and until nothing moves any more."""
BLOCKED_S = 0.003
"""How long the receiver stays away to see whether a send waits for it."""


def main(folder: Path) -> None:
    """Measure every experiment at every size; rank 0 writes the times."""
    comm = require("mpi4py.MPI", "mpi").COMM_WORLD
    with saying_why(folder, comm):
        measure(folder, comm)


def measure(folder: Path, comm: Any) -> None:
    """Every experiment at every size; the first rank writes the times."""
    job = job_of_ranks(folder, comm)
    times: dict[str, list[list[float]]] = {}
    for name in job["experiments"]:
        experiment = EXPERIMENTS[name]
        times[name] = []
        for size in job["sizes"]:
            buffer = np.zeros(size, dtype=np.uint8)
            comm.Barrier()
            own = [experiment(comm, buffer) for _ in range(job["repeats"] + WARM)][WARM:]
            # Some are timed by one rank, some by the other; who does not time says 0.
            times[name].append([max(pair) for pair in zip(*comm.allgather(own), strict=True)])
    if comm.Get_rank() == 0:
        write_text_whole(folder / ANSWER, json.dumps({"times_s": times}))


def round_trip_s(comm: Any, buffer: Any) -> float:
    """One message there and back, as rank 0 sees it."""
    if comm.Get_rank():
        comm.Recv(buffer, 0)
        comm.Send(buffer, 0)
        return 0.0
    begun = time.perf_counter()
    comm.Send(buffer, 1)
    comm.Recv(buffer, 1)
    return time.perf_counter() - begun


def send_s(comm: Any, buffer: Any) -> float:
    """A send to a receiver that waits already."""
    comm.Barrier()
    if comm.Get_rank():
        comm.Recv(buffer, 0)
        return 0.0
    _busy(LATE_S)
    begun = time.perf_counter()
    comm.Send(buffer, 1)
    return time.perf_counter() - begun


def receive_s(comm: Any, buffer: Any) -> float:
    """A receive of a message that has come already, or whose sender waits already."""
    comm.Barrier()
    if not comm.Get_rank():
        comm.Send(buffer, 1)
        return 0.0
    time.sleep(LATE_S + len(buffer) * 1e-9)
    begun = time.perf_counter()
    comm.Recv(buffer, 0)
    return time.perf_counter() - begun


def unreceived_send_s(comm: Any, buffer: Any) -> float:
    """A send to a receiver that comes much later: long where it waits for it."""
    comm.Barrier()
    if comm.Get_rank():
        time.sleep(BLOCKED_S)
        comm.Recv(buffer, 0)
        return 0.0
    begun = time.perf_counter()
    comm.Send(buffer, 1)
    return time.perf_counter() - begun


def flood_s(comm: Any, buffer: Any) -> float:
    """One of many sends in a row; only of the smallest message."""
    if len(buffer) > FLOOD_BYTES:
        return 0.0
    comm.Barrier()
    begun = time.perf_counter()
    for _ in range(FLOOD):
        if comm.Get_rank():
            comm.Recv(buffer, 0)
        else:
            comm.Send(buffer, 1)
    return (time.perf_counter() - begun) / FLOOD


def _busy(duration_s: float) -> None:
    """Pass time without sleeping: a processor that slept is slow at first."""
    until = time.perf_counter() + duration_s
    while time.perf_counter() < until:
        pass


EXPERIMENTS: Mapping[str, Callable[[Any, Any], float]] = {
    "round_trip": round_trip_s,
    "send": send_s,
    "receive": receive_s,
    "unreceived_send": unreceived_send_s,
    "flood": flood_s,
}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
