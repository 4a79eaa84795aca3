"""Synchronous steps, every part timed, and the isolated exchange."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mlperf.collect.synchronous.exchange import Exchange
from mlperf.collect.synchronous.work import Work
from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.marks import mark_laps

MARKS = ("begin", "input", "forward", "backward", "pack", "exchange", "update")
"""Readings of the performance counter in a step: at its begin, and at the end of each part."""
BEFORE, AFTER = MARKS.index("pack"), MARKS.index("exchange")
N_WARM_UP, N_TRIED = 3, 5
LEAST_STEPS, MOST_STEPS = 10, 5000
EXCHANGE_S, MOST_EXCHANGES = 0.3, 100
OTHER_BYTES = 2**24
"""What a process reads between two isolated exchanges: a step, too, leaves other data in the caches."""
Rows = Callable[[int], IntArray]
"""Samples of this process in a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Timed:
    """Timed steps of one process: `MARKS`, shape (n_steps, 7), seconds of this machine's clock; loss of the last step."""

    marks_s: FloatArray
    loss: float


def synchronous_step(work: Work, exchange: Exchange, rows: IntArray, n_processes: int) -> tuple[list[float], float]:
    """One step of one process: marks of the performance counter around its six parts, and the loss."""
    clock = time.perf_counter
    marks = [clock()]
    work.load(rows)
    marks.append(clock())
    loss = work.forward()
    marks.append(clock())
    work.backward()
    marks.append(clock())
    work.pack()
    marks.append(clock())
    if n_processes > 1:
        exchange.sum(work.gradient)
    marks.append(clock())
    work.update(n_processes)
    marks.append(clock())
    return marks, loss


def train_steps(work: Work, exchange: Exchange, rows: Rows, n_processes: int, run_s: float) -> Timed:
    """Warm up, see how long a step takes, then time as many as fill the run; a recorder is told of them afterwards.

    Parameters
    ----------
    work : Work
        This process's replica.
    exchange : Exchange
        The others.
    rows : callable
        Samples of a step by its number.
    n_processes : int
    run_s : float
        Seconds of timed steps.
    """
    for step in range(N_WARM_UP):
        synchronous_step(work, exchange, rows(step), n_processes)
    exchange.meet()
    tried = [synchronous_step(work, exchange, rows(N_WARM_UP + step), n_processes)[0] for step in range(N_TRIED)]
    usual_s = exchange.agree(float(np.median([marks[-1] - marks[0] for marks in tried])))
    n_steps = int(np.clip(np.ceil(run_s / max(usual_s, 1e-9)), LEAST_STEPS, MOST_STEPS))
    first = N_WARM_UP + N_TRIED
    # Which samples come is known beforehand: drawing them is no part of a step.
    drawn = [rows(first + step) for step in range(n_steps)]
    exchange.meet()
    found, loss = [], 0.0
    for each in drawn:
        marks, loss = synchronous_step(work, exchange, each, n_processes)
        found.append(marks)
    for marks in found:
        mark_laps("step", MARKS[1:], marks)
    return Timed(np.array(found), loss)


def isolated_exchange(exchange: Exchange, size_bytes: int, *, computes: bool = True) -> FloatArray:
    """Begin and end in one process of sums of a vector of ``size_bytes``, all starting together; shape (n_exchanges, 2), seconds.

    Parameters
    ----------
    exchange : Exchange
        The others.
    size_bytes : int
    computes : bool
        Whether the process reads `OTHER_BYTES` and writes its vector before each of them, as a step that computes does: right after
        another exchange of the same memory it would take half as long. A step that waits does nothing of that, and ranks that have
        no core of their own would take turns at it into the exchange.
    """
    values, other = np.zeros(size_bytes // 4, dtype=np.float32), np.zeros(OTHER_BYTES // 4, dtype=np.float32)

    def once() -> tuple[float, float, float]:
        before_s = time.perf_counter()
        if computes:
            other.sum()
            values.fill(0.0)
        exchange.start_together()
        begin_s = time.perf_counter()
        exchange.sum(values)
        return begin_s, time.perf_counter(), before_s

    for _ in range(N_WARM_UP):
        once()
    usual_s = exchange.agree(float(np.median([end_s - before_s for _, end_s, before_s in (once() for _ in range(N_TRIED))])))
    n_exchanges = int(np.clip(np.ceil(EXCHANGE_S / max(usual_s, 1e-9)), LEAST_STEPS, MOST_EXCHANGES))
    return np.array([once()[:2] for _ in range(n_exchanges)])
