"""What is logged beside every sample: load average and the time of a reference kernel; and the rule of one BLAS thread."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from mlperf.collect.cnn_engine.builder import Array
from mlperf.core.errors import MissingExtraError, UsageError

REFERENCE_SIZE = 384
REFERENCE_REPEATS = 3
THREAD_SHARE = 1.3
"""Process CPU time over thread CPU time above which some library thread must be computing too."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When and under which conditions a sample was taken.

    Attributes
    ----------
    round, sequence : int
        Round, and position in the whole campaign.
    load : float
        Load average over one minute.
    reference_s : float
        CPU time of the reference kernel just before the sample.
    """

    round: int
    sequence: int
    load: float
    reference_s: float


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
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP at one thread, and check that they obey.

    Raises
    ------
    UsageError
        A product still used more CPU time than its thread.
    """
    with threadpool_limits(limits=1):
        check_one_thread()
        yield


def check_one_thread(size: int = 1024) -> None:
    """Compare the CPU time of the process with that of this thread during one product."""
    a = np.ones((size, size), dtype=np.float32)
    a @ a
    process_start, thread_start = time.process_time_ns(), time.thread_time_ns()
    a @ a
    process_ns, thread_ns = time.process_time_ns() - process_start, time.thread_time_ns() - thread_start
    if process_ns > THREAD_SHARE * thread_ns:
        raise UsageError(
            f"a matrix product took {process_ns / thread_ns:.1f} times the CPU time of its thread, expected one BLAS thread",
            place="mlperf collect",
            hint="Set OMP_NUM_THREADS=1, OPENBLAS_NUM_THREADS=1 and MKL_NUM_THREADS=1 before the command.",
        )
