"""How long a pipeline takes for the micro-batches of one step: the longest path through its schedule."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.systems.coupling.schedules import ONE_F_ONE_B, SCHEDULES, Work, schedule_order


def pipeline_makespan(
    t_fwd: FloatArray,
    t_bwd: FloatArray,
    m: int,
    schedule: str,
    transfer_s: FloatArray | float = 0.0,
    n_chunks: int = 1,
) -> FloatArray:
    """Time from the first forward to the last backward of ``m`` micro-batches.

    F(j, i) needs F(j-1, i), B(j, i) needs B(j+1, i) (the last stage: F), both a transfer later; a device does one thing at a time,
    in the order of its schedule.

    Parameters
    ----------
    t_fwd, t_bwd : array, shape (n_stages, 1 or m, ...)
        Seconds of one pass of each stage, of all micro-batches alike or of each; further axes are configurations.
    m : int
        Micro-batches of a step, >= 1.
    schedule : str
        One of `mlperf.systems.coupling.schedules.SCHEDULES`.
    transfer_s : array or float
        Seconds from the end of a pass to its output being at the next stage; sender and receiver may work meanwhile.
    n_chunks : int
        Stages on one device when interleaved; stage j is on device j mod (n_stages / n_chunks).

    Returns
    -------
    array
        Seconds, one a configuration. Equal stages without transfers: (m+s-1)(f+b).

    Raises
    ------
    UsageError
        Shapes that do not belong together; an unknown schedule.
    DataError
        Interleaved with micro-batches that are no multiple of the devices.
    """
    forward, backward = np.asarray(t_fwd, float), np.asarray(t_bwd, float)
    _check_shapes(forward, backward, m, n_chunks)
    n_stages = forward.shape[0]
    transfer = np.asarray(transfer_s, float)
    n_devices = n_stages // n_chunks
    shape = np.broadcast_shapes(forward.shape[2:], backward.shape[2:], transfer.shape)
    clocks: list[FloatArray] = [np.zeros(shape)] * n_devices
    ends: dict[Work, FloatArray] = {}
    for device, work in _execution(schedule, n_devices, m, n_chunks):
        times = backward if work.backward else forward
        seconds = times[work.stage, work.micro_batch if times.shape[1] > 1 else 0]
        before = _needed(work, n_stages)
        start = clocks[device]
        if before is not None:
            moved = before.stage != work.stage
            # Of two devices' passes only: between chunks of one device nothing travels.
            start = np.maximum(start, ends.pop(before) + (transfer if moved and n_devices > 1 else 0.0))
        clocks[device] = ends[work] = start + seconds
    return np.asarray(np.maximum.reduce(clocks))


def uniform_makespan(
    forward_s: FloatArray,
    backward_s: FloatArray,
    n_stages: FloatArray,
    m: FloatArray,
    schedule: FloatArray | int,
    transfer_s: FloatArray | float = 0.0,
    imbalance: FloatArray | float = 1.0,
    n_chunks: FloatArray | float = 1.0,
) -> FloatArray:
    """Closed form of :func:`pipeline_makespan` for equal stages before a last one that may be slower.

    Parameters
    ----------
    forward_s, backward_s : array, shape (n_configs,)
        Seconds of one micro-batch in the mean stage (on one device: all its chunks together).
    n_stages, m : array
        Stages (devices) s, micro-batches.
    schedule : array or int
        Places in `mlperf.systems.coupling.schedules.SCHEDULES`.
    transfer_s : array or float
        Seconds of one transfer x.
    imbalance : array or float
        The last stage over the mean one, in [1, s]; the others are equal.
    n_chunks : array or float
        Chunks v of a device when interleaved: the fill shrinks to 1 / v, and there are s v - 1 transfers each way.

    Returns
    -------
    array
        Seconds. With t = f + b, the last stage's t_max and the others' t_0:
        (m-1) t_max + s t + 2 (s-1) x for GPipe (fill and drain of a flow shop). 1F1B also pays for loops: a stage k before the last
        holds k + 1 micro-batches, so that a longer way round (2 k x less what the others are faster) returns once every k + 1
        micro-batches; the longest path takes (m-1) // s loops through all stages and one of the rest. Interleaved:
        (m-1) t_max + t + (s-1) t / v + 2 (s v - 1) x, with transfers short enough to fit the schedule's slack.
    """
    forward, m, stages = (np.asarray(each, float) for each in (forward_s, m, n_stages))
    both, transfer, slow = forward + backward_s, np.asarray(transfer_s, float), np.asarray(imbalance, float)
    filled = (m - 1.0) * slow * both + both + (stages - 1.0) / n_chunks * both
    travelled = 2.0 * (stages * n_chunks - 1.0) * transfer * (stages > 1.0)
    others = (stages - slow) / np.maximum(stages - 1.0, 1.0)
    gain = np.maximum(2.0 * transfer - (slow - others) * both, 0.0) * (stages > 1.0)
    loops, left = np.divmod(m - 1.0, stages)
    looped = gain * (loops * (stages - 1.0) + np.maximum(left - 1.0, 0.0))
    return np.asarray(filled + travelled + np.where(np.asarray(schedule) == SCHEDULES.index(ONE_F_ONE_B), looped, 0.0))


def _check_shapes(forward: FloatArray, backward: FloatArray, m: int, n_chunks: int) -> None:
    for name, times in (("t_fwd", forward), ("t_bwd", backward)):
        if times.ndim < 2 or times.shape[1] not in (1, m):
            raise UsageError(f"got {name} of shape {times.shape}, expected (stages, 1 or {m}, ...)")
    if forward.shape[0] != backward.shape[0] or m < 1 or n_chunks < 1 or forward.shape[0] % n_chunks:
        got = f"got {forward.shape[0]} forward and {backward.shape[0]} backward stages, {m} micro-batches, {n_chunks} chunks"
        raise UsageError(f"{got}, expected as many of each, a multiple of the chunks, and at least 1 of all")


def _needed(work: Work, n_stages: int) -> Work | None:
    if not work.backward:
        return Work(False, work.stage - 1, work.micro_batch) if work.stage else None
    if work.stage == n_stages - 1:
        return Work(False, work.stage, work.micro_batch)
    return Work(True, work.stage + 1, work.micro_batch)


@lru_cache(maxsize=64)
def _execution(schedule: str, n_devices: int, m: int, n_chunks: int) -> tuple[tuple[int, Work], ...]:
    # An order of all passes in which each comes after what it needs.
    waiting = [list(reversed(order)) for order in schedule_order(schedule, n_devices, m, n_chunks)]
    n_stages, done = n_devices * n_chunks, set[Work]()
    order: list[tuple[int, Work]] = []
    while any(waiting):
        before = len(order)
        for device, left in enumerate(waiting):
            while left and ((need := _needed(left[-1], n_stages)) is None or need in done):
                work = left.pop()
                done.add(work)
                order.append((device, work))
        if len(order) == before:
            raise UsageError(f"got the schedule {schedule!r}, which never ends with {n_devices} devices and {m} micro-batches")
    return tuple(order)
