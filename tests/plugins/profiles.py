"""Small profiler files, event by event, as PyTorch's profiler writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ALL_REDUCE = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"
GEMM = "volta_sgemm_128x32_tn"
Event = dict[str, Any]


def complete(category: str, name: str, start_us: float, length_us: float, pid: int = 10, tid: int = 11, **arguments: Any) -> Event:
    """A complete event."""
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start_us, "dur": length_us, "args": arguments}


def launch(start_us: float, length_us: float, correlation: int, name: str = "cudaLaunchKernel", tid: int = 11) -> Event:
    """A call of the runtime."""
    return complete("cuda_runtime", name, start_us, length_us, tid=tid, correlation=correlation)


def kernel(
    start_us: float,
    length_us: float,
    correlation: int,
    name: str = GEMM,
    stream: int = 7,
    category: str = "kernel",
    **arguments: Any,
) -> Event:
    """What runs on device 0."""
    return complete(category, name, start_us, length_us, 0, stream, device=0, stream=stream, correlation=correlation, **arguments)


def step(number: int, start_us: float, length_us: float) -> Event:
    """A step's mark on the host."""
    return complete("user_annotation", f"ProfilerStep#{number}", start_us, length_us)


def document(events: Iterable[Event], **members: Any) -> str:
    """The text of a file."""
    return json.dumps({"schemaVersion": 1, **members, "traceEvents": list(events)})


def write(path: Path, events: Iterable[Event], rank: int | None = None, n_ranks: int = 1, **members: Any) -> Path:
    """Write a file of one rank."""
    told = {} if rank is None else {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": n_ranks}}
    path.write_text(document(events, **told, **members))
    return path


def training_step(
    number: int, start_us: float, host_us: float, compute_us: float, meet_us: float, transfer_us: float
) -> list[Event]:
    """One step of one rank: the host works, launches a product and an all-reduce, and waits for the device.

    The product starts 5 us after its launch and lasts ``compute_us``; the all-reduce begins when it is done, at the
    earliest 5 us after its own launch, and ends ``transfer_us`` after ``meet_us``, when the last rank has come.
    """
    first = 10 * number
    launched = start_us + host_us
    begun = launched + max(5 + compute_us, 8)
    ended = meet_us + transfer_us
    return [
        step(number, start_us, ended + 2 - start_us),
        launch(launched, 2, first + 1),
        kernel(launched + 5, compute_us, first + 1),
        launch(launched + 3, 1, first + 2),
        kernel(begun, ended - begun, first + 2, ALL_REDUCE, 20),
        launch(launched + 6, ended + 2 - launched - 6, first + 3, "cudaDeviceSynchronize"),
    ]


def training_job(
    folder: Path, host_us: list[list[float]], compute_us: float = 100.0, transfer_us: float = 50.0
) -> tuple[Path, list[float]]:
    """Files of a job whose ranks' hosts take so long in each step, and when each step ends, microseconds.

    Parameters
    ----------
    host_us : list of lists
        By step and rank.
    """
    events: list[list[Event]] = [[] for _ in host_us[0]]
    start, ends = 1000.0, []
    for number, times in enumerate(host_us):
        meet = start + max(times) + max(5 + compute_us, 8)
        for rank, host in enumerate(times):
            events[rank] += training_step(number, start, host, compute_us, meet, transfer_us)
        start = meet + transfer_us + 2
        ends.append(start)
    folder.mkdir(exist_ok=True)
    for rank, each in enumerate(events):
        write(folder / f"rank_{rank}.json", each, rank, len(events))
    return folder, ends
