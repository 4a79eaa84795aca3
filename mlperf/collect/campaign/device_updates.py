"""The memory operations that a GPU thread shares with a device: copies over the bus, and the update value in device memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.timers import Timing
from mlperf.collect.protocol.protocol import Rows

LEARNING_RATE = 0.01
VISIT_S = 0.005
MOST_REPEATS = 20


def vector_row(name: str, n_params: int, times: Mapping[str, float]) -> Rows:
    """One row of the table."""
    return {"updates": [{"operation": name, "n_params": n_params, "subbatch_size": 0, "input_size": 0, **times}]}


def repeated(operation: Callable[[], object], clock: Callable[[Callable[[], object]], Timing]) -> dict[str, float]:
    """Median time of one call, after one unmeasured; short calls are repeated."""
    operation()
    times: list[Timing] = []
    while sum(taken.cpu_s for taken in times) < VISIT_S and len(times) < MOST_REPEATS:
        times.append(clock(operation))
    return {
        "cpu_s": statistics.median(taken.cpu_s for taken in times),
        "wall_s": statistics.median(taken.wall_s for taken in times),
    }


@dataclass(frozen=True, slots=True, eq=False)
class DeviceVectors:
    """N_Param numbers on the device, in pinned host memory, and in the gradient buffer of the update thread.

    Attributes
    ----------
    device, pinned : tensors
        ``pinned`` and `received` are the same memory.
    received, buffer : arrays
        Host memory.
    """

    device: Any
    pinned: Any
    received: Array
    buffer: Array

    def cut(self, n_params: int) -> DeviceVectors:
        """The first ``n_params`` numbers of each."""
        return DeviceVectors(self.device[:n_params], self.pinned[:n_params], self.received[:n_params], self.buffer[:n_params])


def update_gradient(v: DeviceVectors) -> None:
    """The update value is copied to the host and added to the gradient buffer (Algorithm 1, line 12)."""
    v.pinned.copy_(v.device)
    np.add(v.buffer, v.received, out=v.buffer)


DEVICE_OPERATIONS: Mapping[str, Callable[[DeviceVectors], object]] = {
    "fetch_weights": lambda v: v.device.copy_(v.pinned),
    "compute_update_value": lambda v: v.device.mul_(-LEARNING_RATE),
    "update_gradient": update_gradient,
}
"""One occurrence of each component that touches the device; the others work in host memory alone."""


def device_measures(torch: Any, size: int) -> dict[str, Callable[[int], Rows]]:
    """By operation, a function that measures it on so many parameters.

    Parameters
    ----------
    torch : module
        With a CUDA device.
    size : int
        The largest number of parameters.
    """
    pinned = torch.full((size,), 0.25).pin_memory()
    vectors = DeviceVectors(torch.full((size,), 0.5, device="cuda"), pinned, pinned.numpy(), np.full(size, 0.125, dtype=np.float32))
    return {name: partial(measure, torch.cuda, name, vectors) for name in DEVICE_OPERATIONS}


def measure(cuda: Any, name: str, vectors: DeviceVectors, n_params: int) -> Rows:
    """Row of one operation: elapsed time until the device is done, which stands for both clocks."""
    part = vectors.cut(n_params)
    part.device.fill_(0.5)
    return vector_row(name, n_params, repeated(partial(DEVICE_OPERATIONS[name], part), partial(until_done, cuda)))


def until_done(cuda: Any, operation: Callable[[], object]) -> Timing:
    """Time of one call and of all that it put into the stream."""
    cuda.synchronize()
    start_ns = time.perf_counter_ns()
    operation()
    cuda.synchronize()
    elapsed_s = (time.perf_counter_ns() - start_ns) * 1e-9
    return Timing(elapsed_s, elapsed_s)
