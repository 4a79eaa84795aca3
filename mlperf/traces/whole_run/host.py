"""What the machine is, and what its memory gives."""

from __future__ import annotations

import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.proc import processor_facts

IDENTITY = {"family": "cpu family", "model": "model", "stepping": "stepping"}
"""Numbers that tell the generation of a processor, as /proc/cpuinfo calls them; absent where it has none."""
COPY_BYTES = 1 << 26
REPEATS = 5
MOVED = 2
"""A copy reads and writes every byte."""


def host_facts() -> dict[str, Any]:
    """Processor, its generation and what it can do, cores that this process may use, system; no name of the machine."""
    fields = processor_facts()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "processor": fields.get("model name", platform.processor() or platform.machine()),
        "architecture": platform.machine(),
        "system": platform.system(),
        "n_cores": cores,
        "cpu_flags": fields.get("flags", fields.get("Features", "")),
        "cpu_vendor": fields.get("vendor_id", ""),
        **{f"cpu_{name}": int(fields[line]) for name, line in IDENTITY.items() if fields.get(line, "").isdecimal()},
    }


def memory_peaks(n_cores: int) -> dict[str, float]:
    """Bytes a second that copies of large arrays move, with one core and with all; the best of five.

    Parameters
    ----------
    n_cores : int
        Copies at once.
    """
    pairs = [(np.ones(COPY_BYTES // 8), np.zeros(COPY_BYTES // 8)) for _ in range(n_cores)]
    one = max(_rate(pairs[:1]) for _ in range(REPEATS))
    every = max(_rate(pairs) for _ in range(REPEATS)) if n_cores > 1 else one
    return {"memory_one_core_bytes_per_s": one, "memory_bytes_per_s": max(every, one)}


def _rate(pairs: list[tuple[FloatArray, FloatArray]]) -> float:
    """Copies of all pairs at once, bytes a second."""
    with ThreadPoolExecutor(len(pairs)) as pool:
        begun = time.perf_counter()
        list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
        return MOVED * COPY_BYTES * len(pairs) / (time.perf_counter() - begun)
