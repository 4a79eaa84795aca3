"""Two ways to time calls: this thread's CPU clock, and events in a device's stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mlperf.collect.cnn_engine.builder import Operation
from mlperf.core.arrays import FloatArray

SPIN_CYCLES_PER_S = 2e9
"""No device's clock is much faster: a spin of so many cycles lasts at least a second."""

HEAD_START = 1.5
"""How much longer than it takes to enqueue the work a device is kept waiting for it."""

LONGEST_HOLD_S = 1.0
"""Enqueuing takes so long only where libraries are loaded on the way."""


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU time of the measuring thread, or busy time of a device, and elapsed time; seconds."""

    cpu_s: float
    wall_s: float


class Timer(Protocol):
    """A clock that times calls, one by one."""

    def time(self, run: Callable[[], object]) -> Timing:
        """Time one call."""

    def time_each(self, operations: Sequence[Operation]) -> tuple[FloatArray, FloatArray]:
        """Every operation that has a kernel, in place: cpu_s and wall_s, shape (n_kernels,); the others run untimed."""


class ThreadTimer:
    """CPU time of this thread together with the wall clock."""

    def time(self, run: Callable[[], object]) -> Timing:
        """Time one call."""
        wall_start, cpu_start = time.perf_counter_ns(), time.thread_time_ns()
        run()
        cpu_ns = time.thread_time_ns() - cpu_start
        return Timing(cpu_ns * 1e-9, (time.perf_counter_ns() - wall_start) * 1e-9)

    def time_each(self, operations: Sequence[Operation]) -> tuple[FloatArray, FloatArray]:
        """Every operation that has a kernel, in place."""
        cpu_ns, wall_ns = [], []
        cpu_clock, wall_clock = time.thread_time_ns, time.perf_counter_ns
        for operation in operations:
            wall_start, cpu_start = wall_clock(), cpu_clock()
            operation.run()
            cpu_end, wall_end = cpu_clock(), wall_clock()
            if operation.kernel:
                cpu_ns.append(cpu_end - cpu_start)
                wall_ns.append(wall_end - wall_start)
        return np.array(cpu_ns) * 1e-9, np.array(wall_ns) * 1e-9


class DeviceTimer:
    """Pairs of events in the stream of a CUDA device.

    ``wall_s`` is the time between two events as the host enqueues work: where it is slower than the device, gaps are in it.
    ``cpu_s`` is the same behind a spinning kernel that holds the device until all work is enqueued: the device is then busy from
    event to event. (The queue holds about a thousand launches; of longer steps the end may still meet gaps.)

    Parameters
    ----------
    cuda : module
        ``torch.cuda``.
    """

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda

    def time(self, run: Callable[[], object]) -> Timing:
        """Time one call."""
        cpu_s, wall_s = self.time_each([Operation("whole", "", run)])
        return Timing(float(cpu_s[0]), float(wall_s[0]))

    def time_each(self, operations: Sequence[Operation]) -> tuple[FloatArray, FloatArray]:
        """Every operation that has a kernel, in place: run twice, free and held back."""
        enqueue_start_ns = time.perf_counter_ns()
        free = self._enqueue(operations)
        enqueue_s = (time.perf_counter_ns() - enqueue_start_ns) * 1e-9
        wall_s = self._elapsed_s(free)
        self._cuda._sleep(int(min(HEAD_START * enqueue_s, LONGEST_HOLD_S) * SPIN_CYCLES_PER_S))
        return self._elapsed_s(self._enqueue(operations)), wall_s

    def _enqueue(self, operations: Sequence[Operation]) -> list[tuple[Any, Any]]:
        pairs = []
        for operation in operations:
            if not operation.kernel:
                operation.run()
                continue
            start, stop = (self._cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            operation.run()
            stop.record()
            pairs.append((start, stop))
        return pairs

    def _elapsed_s(self, pairs: Sequence[tuple[Any, Any]]) -> FloatArray:
        self._cuda.synchronize()
        return np.array([start.elapsed_time(stop) for start, stop in pairs]) * 1e-3
