"""The events of workers at a parameter server, in the order in which gradients arrive. Compiled where numba is present.

A worker computes, queues, is served, and computes again, unless it is more than a bound of clocks ahead of the slowest: then it
waits for that one. Gradients are served first come, first served, so the end of a service is known as soon as its gradient arrives,
and nothing later can come before it.
"""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.jit import jit

UNBOUNDED = -1
SERVED, BUSY_S, WAIT_S, BLOCKED_S, STALENESS, N_SUMS = range(6)


@jit
def run_servers(
    work_s: FloatArray,
    service_s: FloatArray,
    free_s: FloatArray,
    bound: int,
    warmup: int,
    done_s: FloatArray,
    sums: FloatArray,
    staleness: IntArray,
) -> None:
    """Serve as many gradients as ``service_s`` has times.

    ``work_s`` (n_workers, n_draws), taken in turn; ``free_s`` (n_servers,) when each is free; ``done_s`` (n_services,) when each
    service ended; ``sums`` (n_workers, 5) and ``staleness`` (n_counts,) of what came after ``warmup`` services.
    """
    n_workers, n_draws = work_s.shape
    arrive, ended = work_s[:, 0].copy(), np.zeros(n_workers)
    clock, version = np.zeros(n_workers, dtype=np.int64), np.zeros(n_workers, dtype=np.int64)
    # By clock, as far back as somebody may look: workers that have finished it, and when the last one did.
    slots = 2 * bound + 4 if bound >= 0 else 1
    finished, closed_s = np.zeros(slots, dtype=np.int64), np.zeros(slots)
    slowest = 0
    for served in range(len(service_s)):
        worker, server = np.argmin(arrive), np.argmin(free_s)
        begin = max(arrive[worker], free_s[server])
        end = begin + service_s[served]
        if served >= warmup:
            age = served - version[worker]
            sums[worker, SERVED] += 1.0
            sums[worker, BUSY_S] += service_s[served]
            sums[worker, WAIT_S] += begin - arrive[worker]
            sums[worker, STALENESS] += age
            staleness[min(age, len(staleness) - 1)] += 1
        free_s[server] = done_s[served] = ended[worker] = end
        version[worker] = served + 1
        clock[worker] += 1
        if bound < 0:
            arrive[worker] = end + work_s[worker, clock[worker] % n_draws]
            continue
        slot = (clock[worker] - 1) % slots
        closed_s[slot] = max(closed_s[slot], end) if finished[slot] else end
        finished[slot] += 1
        arrive[worker] = np.inf
        while finished[slowest % slots] == n_workers:
            finished[slowest % slots] = 0
            slowest += 1
        _release(work_s, arrive, ended, clock, version, closed_s, bound, slowest, served, warmup, sums)


@jit
def _release(
    work_s: FloatArray,
    arrive: FloatArray,
    ended: FloatArray,
    clock: IntArray,
    version: IntArray,
    closed_s: FloatArray,
    bound: int,
    slowest: int,
    served: int,
    warmup: int,
    sums: FloatArray,
) -> None:
    """Let every worker begin its next clock that is no longer too far ahead."""
    for worker in range(len(arrive)):
        needed = clock[worker] - bound
        if arrive[worker] < np.inf or needed > slowest:
            continue
        start = ended[worker] if needed <= 0 else max(ended[worker], closed_s[(needed - 1) % len(closed_s)])
        if served >= warmup:
            sums[worker, BLOCKED_S] += start - ended[worker]
        version[worker] = served + 1
        arrive[worker] = start + work_s[worker, clock[worker] % work_s.shape[1]]
