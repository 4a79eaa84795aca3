"""What is logged beside every sample: load average and the time of a reference kernel; and the rule of one computing thread."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

from mlperf.collect.cnn_engine.builder import Array
from mlperf.core.errors import MissingExtraError, UsageError
from mlperf.core.threads import ONE_THREAD

REFERENCE_SIZE = 384
REFERENCE_REPEATS = 3
THREAD_SHARE = 1.3
"""Process CPU time over thread CPU time above which some library thread must be computing too."""
PATIENCE_S = 2.0


class Reference:
    """An in-cache SGEMM of 384 x 384 x 384, timed now and then: the machine's speed at that moment."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._a, self._b = (rng.standard_normal((REFERENCE_SIZE, REFERENCE_SIZE)).astype(np.float32) for _ in range(2))
        self._out: Array = np.empty_like(self._a)

    def time_s(self) -> float:
        """Median CPU time of three products, seconds."""
        return statistics.median(self._once_s() for _ in range(REFERENCE_REPEATS))

    def _once_s(self) -> float:
        start = time.thread_time_ns()
        np.matmul(self._a, self._b, out=self._out)
        return (time.thread_time_ns() - start) * 1e-9


def load_average() -> float:
    """Processes that want to run, averaged over the last minute."""
    return os.getloadavg()[0]


def require_clocks() -> None:
    """Refuse systems without the clocks that the protocol needs.

    Raises
    ------
    MissingExtraError
        Not Linux; names what is absent.
    """
    if sys.platform != "linux":
        raise MissingExtraError(
            f"measuring needs Linux, got {sys.platform}: CLOCK_THREAD_CPUTIME_ID, /proc/cpuinfo and the load average are absent",
            place="mlperf collect",
            hint="Measure on a Linux machine; every other command works here on its tables.",
        )


@contextmanager
def one_computing_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP at one thread while something is timed, and check that they obey.

    Raises
    ------
    UsageError
        Products still use more CPU time than their thread.
    """
    with threadpool_limits(limits=1):
        await_one_thread()
        yield


def await_one_thread(patience_s: float = PATIENCE_S) -> None:
    """Wait until only this thread computes.

    Raises
    ------
    UsageError
        Other threads of the process still do after ``patience_s`` seconds.
    """
    # Threads of an earlier product spin for some ten milliseconds before they sleep: a limit does not end that.
    deadline_s = time.monotonic() + patience_s
    while (share := thread_share()) > THREAD_SHARE:
        if time.monotonic() > deadline_s:
            raise UsageError(
                f"a matrix product took {share:.1f} times the CPU time of its thread, expected one BLAS thread",
                place="mlperf collect",
                hint=f"Set {', '.join(f'{name}={value}' for name, value in ONE_THREAD.items())} before the command.",
            )


def thread_share(size: int = 1024) -> float:
    """CPU time of the process over that of this thread during one product; 1 where nobody else computes."""
    a = np.ones((size, size), dtype=np.float32)
    a @ a
    process_start, thread_start = time.process_time_ns(), time.thread_time_ns()
    a @ a
    return (time.process_time_ns() - process_start) / (time.thread_time_ns() - thread_start)
