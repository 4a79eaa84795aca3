"""One row of the table ``canonical``: the CPU time of one call, from one block of calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from mlperf.collect.canonical.cases import Call, Case

BLOCK_S = 2e-3
WARM_CALLS = 2
MOST_CALLS = 2000


def block_s(run: Callable[[], object], least_s: float = BLOCK_S) -> float:
    """CPU seconds of one call: warm, mean over a block of at least ``least_s`` seconds."""
    for _ in range(WARM_CALLS):
        run()
    first = time.thread_time_ns()
    run()
    once_s = max(1e-9, (time.thread_time_ns() - first) * 1e-9)
    n_calls = max(1, min(MOST_CALLS, round(least_s / once_s)))
    start = time.thread_time_ns()
    for _ in range(n_calls):
        run()
    return (time.thread_time_ns() - start) * 1e-9 / n_calls


def row_of(case: Case, call: Call, time_s: float, n_threads: int, sample: dict[str, Any]) -> dict[str, Any]:
    """A row of the table ``canonical``."""
    return {
        "code": case.code,
        "kind": case.kind,
        "pass": case.direction,
        "n_connections": call.n_connections,
        "n_neurons": call.n_neurons,
        "working_set_bytes": call.working_set_bytes,
        "n_threads": n_threads,
        "minibatch_size": 1,
        "time_s": time_s,
        **sample,
    }
