"""The same loops in several processes at once, each on its own core: what C_interf(H) is the ratio of."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from typing import Any

from mlperf.collect.canonical.cases import Case, call_of
from mlperf.collect.canonical.timing import block_s
from mlperf.core.errors import MlperfError
from mlperf.core.threads import one_blas_thread

PLACE = "mlperf collect canonical"
LIMIT_S = 120.0
LOOK_S = 0.2
"""Between looks at whether every process is alive."""

N_BLOCKS = 15


def together_s(cases: Sequence[Case], n_processes: int, n_blocks: int = N_BLOCKS) -> list[list[float]]:
    """CPU seconds of one call of each case while ``n_processes`` processes run it on different cores.

    Parameters
    ----------
    cases : sequence of Case
        Measured one after the other, with a common start of each.
    n_processes : int
        At most the cores that this process may use.
    n_blocks : int
        Blocks of calls in each process.

    Returns
    -------
    list of list of float
        By case: every block of all processes that lies wholly inside the time during which all of them ran.

    Raises
    ------
    MlperfError
        A process ended before it had measured, or none said anything for a long time.
    """
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(n_processes), context.Queue()
    cores = sorted(os.sched_getaffinity(0))
    processes = [
        context.Process(target=_measure, args=(list(cases), n_blocks, cores[number], barrier, results), daemon=True)
        for number in range(n_processes)
    ]
    # They are ended from here: Ctrl-C is for this process.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for process in processes:
            process.start()
    finally:
        signal.signal(signal.SIGINT, handler)
    try:
        found = [_next_result(results, processes) for _ in processes]
        for process in processes:
            process.join(timeout=5.0)
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
    return [common_blocks([blocks[number] for blocks in found]) for number in range(len(cases))]


def _next_result(results: Any, processes: Sequence[BaseProcess]) -> Any:
    """What one of the processes measured.

    Raises
    ------
    MlperfError
        A process ended before it had measured, or none said anything for `LIMIT_S`.
    """
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        ended = [process.exitcode for process in processes if process.exitcode]
        try:
            return results.get(timeout=LOOK_S)
        except queue.Empty:
            if ended:
                raise _ended_early(ended[0]) from None
    hint = "Less load on the machine lets them meet in time."
    raise MlperfError(f"the measuring processes said nothing for {LIMIT_S:.0f} s", place=PLACE, hint=hint)


def _ended_early(code: int) -> MlperfError:
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    hint = "What it said stands above. Memory may have run out."
    if code > 0:
        hint = (
            "What it said stands above. Each process imports the script that began the measurement: "
            "there the call must stand under `if __name__ == '__main__':`, in a script that is a file."
        )
    return MlperfError(f"one of the measuring processes {how} before it had measured", place=PLACE, hint=hint)


def common_blocks(blocks: Sequence[Sequence[tuple[float, float, float]]]) -> list[float]:
    """Times of a call of the blocks (start, end, time) that all processes were running during; of all where there is none."""
    first = max(each[0][0] for each in blocks)
    last = min(each[-1][1] for each in blocks)
    inside = [call_s for each in blocks for start, end, call_s in each if start >= first and end <= last]
    return inside or [call_s for each in blocks for _, _, call_s in each]


def _measure(cases: list[Case], n_blocks: int, core: int, barrier: Barrier, results: Any) -> None:
    os.sched_setaffinity(0, {core})
    found = []
    with one_blas_thread():
        for case in cases:
            call = call_of(case)
            call.run()
            barrier.wait(LIMIT_S)
            blocks = []
            for _ in range(n_blocks):
                start = time.monotonic()
                call_s = block_s(call.run)
                blocks.append((start, time.monotonic(), call_s))
            found.append(blocks)
    results.put(found)
