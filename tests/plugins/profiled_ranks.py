"""Profiler files of a made-up training job: every time in them is known, so that every number about them can be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STEADY = ((400, 400, 900), (400, 420, 900), (400, 400, 920), (420, 400, 900))
"""Computation on the device by step and rank, microseconds: rank 2 is always slow."""
TRANSFER_US, COPY_US = 30, 5


def one(name: str, category: str, ts: float, dur: float, pid: int = 100, tid: int = 1, **args: Any) -> dict[str, Any]:
    """A complete event."""
    return {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args}


def on_device(name: str, category: str, ts: float, dur: float, stream: int, correlation: int) -> dict[str, Any]:
    """An activity of device 0."""
    return one(name, category, ts, dur, 0, stream, device=0, stream=stream, correlation=correlation)


def step_of(rank: int, number: int, begin: float, work: Sequence[int]) -> tuple[list[dict[str, Any]], float]:
    """One step of one rank, and when it is done: copy, product, all-reduce (30 us after the last has come), wait for it."""
    computed = begin + 40 + work[rank]
    done = begin + 40 + max(work) + 2 + TRANSFER_US
    at = 10 * (number + 1)
    events = [
        one(f"ProfilerStep#{number}", "user_annotation", begin, done + 10 - begin),
        one("aten::mm", "cpu_op", begin + 14, 12, **{"Input Dims": [[64, 32], [32, 16]]}),
        one("cudaMemcpyAsync", "cuda_runtime", begin + 5, 3, correlation=at + 1),
        on_device("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", begin + 20, COPY_US, 9, at + 1),
        one("cudaLaunchKernel", "cuda_runtime", begin + 15, 5, correlation=at + 2),
        on_device("sgemm_128x64", "kernel", begin + 40, work[rank], 7, at + 2),
        one("cudaLaunchKernel", "cuda_runtime", begin + 30, 5, correlation=at + 3),
        on_device("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", computed + 2, done - computed - 2, 7, at + 3),
        one("cudaDeviceSynchronize", "cuda_runtime", begin + 36, done - begin - 34, correlation=at + 4),
    ]
    return events, done + 10


def write_job(folder: Path, work_us: Sequence[Sequence[int]] = STEADY) -> list[Path]:
    """One file a rank."""
    n_ranks = len(work_us[0])
    events: list[list[dict[str, Any]]] = [[] for _ in range(n_ranks)]
    begin = 1000.0
    for number, work in enumerate(work_us):
        ends = []
        for rank in range(n_ranks):
            found, end = step_of(rank, number, begin, work)
            events[rank] += found
            ends.append(end)
        begin = max(ends)
    paths = []
    for rank in range(n_ranks):
        document = {"distributedInfo": {"rank": rank, "world_size": n_ranks}, "traceEvents": events[rank]}
        paths.append(folder / f"rank_{rank}.json")
        paths[-1].write_text(json.dumps(document), encoding="utf-8")
    return paths
