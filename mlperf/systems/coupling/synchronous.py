"""Synchronous data parallel training: every worker waits for the slowest and for the part of the all-reduce that nothing hides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.systems.coupling.barrier import straggler_excess
from mlperf.systems.coupling.overlap import exposed


@dataclass(frozen=True, slots=True, eq=False)
class SynchronousStep(Shown):
    """One training step; arrays of one shape, seconds.

    Attributes
    ----------
    step_s : array
        The whole step: the other fields added up.
    load_stall_s, forward_s, optimizer_s : array
        As given.
    backward_s : array
        Backward pass and the all-reduce of gradients, of which ``exposed_s`` is not hidden by it.
    exposed_s : array
        Part of ``backward_s`` after the last gradient was computed.
    straggler_s : array
        How much later than the mean worker the slowest one is.
    """

    step_s: FloatArray
    load_stall_s: FloatArray
    forward_s: FloatArray
    backward_s: FloatArray
    exposed_s: FloatArray
    optimizer_s: FloatArray
    straggler_s: FloatArray


def synchronous_step(
    forward_s: FloatArray,
    ready_s: FloatArray,
    comm_s: FloatArray,
    optimizer_s: FloatArray,
    n_workers: IntArray,
    *,
    work_std_s: FloatArray | float = 0.0,
    load_stall_s: FloatArray | float = 0.0,
) -> SynchronousStep:
    """Time of one step: stall + forward + max(backward, end of the last bucket) + optimizer + stragglers.

    Parameters
    ----------
    forward_s, optimizer_s : array, shape (n_configs,)
    ready_s, comm_s : array, shape (n_buckets, n_configs)
        End of the last gradient of each bucket after the backward pass began, in the order of sending; time of its all-reduce. The
        backward pass ends with the last bucket's readiness.
    n_workers : array of int, shape (n_configs,)
    work_std_s : array, optional
        Standard deviation of a worker's step.
    load_stall_s : array, optional
        Wait for input.
    """
    shape = np.broadcast_shapes(np.shape(forward_s), np.shape(ready_s)[1:], np.shape(n_workers))
    backward_s = np.broadcast_to(np.max(ready_s, axis=0), shape)
    end_s = np.maximum(backward_s, exposed(ready_s, comm_s))
    unit = np.ones(1)
    per_std = np.array(
        [straggler_excess(unit, int(n)).item() if n > 1 else 0.0 for n in np.ravel(np.broadcast_to(n_workers, shape))]
    )
    parts = {
        "load_stall_s": np.broadcast_to(load_stall_s, shape),
        "forward_s": np.broadcast_to(forward_s, shape),
        "backward_s": np.broadcast_to(end_s, shape),
        "optimizer_s": np.broadcast_to(optimizer_s, shape),
        "straggler_s": np.asarray(work_std_s * per_std.reshape(shape)),
    }
    total = np.sum([np.asarray(part, float) for part in parts.values()], axis=0)
    return SynchronousStep(step_s=total, exposed_s=np.asarray(end_s - backward_s), **parts)
