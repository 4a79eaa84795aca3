"""Orders in which the stages of a pipeline work: GPipe, one forward one backward, and the same with several chunks a device."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import known_word

GPIPE, ONE_F_ONE_B, INTERLEAVED = "gpipe", "1f1b", "interleaved"
SCHEDULES = (GPIPE, ONE_F_ONE_B, INTERLEAVED)
"""By name; a schedule's place is its number in the setting ``schedule``."""


class Work(NamedTuple):
    """One pass of one micro-batch through one stage: ``backward`` or forward; all counted from 0.

    With several chunks a device, stage ``device + chunk * n_devices`` is chunk ``chunk`` of that device.
    """

    backward: bool
    stage: int
    micro_batch: int


@lru_cache(maxsize=256)
def schedule_order(schedule: str, n_devices: int, n_micro_batches: int, n_chunks: int = 1) -> tuple[tuple[Work, ...], ...]:
    """What each device does, in its order.

    Parameters
    ----------
    schedule : str
        ``gpipe`` (all forwards, then all backwards, the last micro-batch first), ``1f1b`` (device d of s starts with min(m, s - d)
        forwards, then alternates one backward, one forward) or ``interleaved`` (1F1B with ``n_chunks`` stages a device).
    n_devices, n_micro_batches, n_chunks : int
        All >= 1; chunks above 1 only when interleaved, with micro-batches a multiple of devices.

    Returns
    -------
    tuple of tuple of Work
        One row a device.

    Raises
    ------
    UsageError
        Unknown schedule, or chunks of another one.
    DataError
        Micro-batches that are no multiple of the devices when interleaved.

    References
    ----------
    Huang et al. (GPipe, 2019), figure 2; Narayanan et al. (PipeDream-Flush, Megatron-LM, 2021), figure 4.
    """
    known_word(schedule, SCHEDULES, "the schedule")
    if schedule != INTERLEAVED and n_chunks != 1:
        raise UsageError(f"got {n_chunks} chunks a device with the schedule {schedule!r}, expected 1")
    if schedule == INTERLEAVED and n_chunks > 1 and n_micro_batches % n_devices:
        got = f"got {n_micro_batches} micro-batches on {n_devices} devices"
        raise DataError(f"{got}, expected a multiple of the devices when interleaved")
    orders = []
    for device in range(n_devices):
        forward = _passes(False, device, n_devices, n_micro_batches, n_chunks)
        backward = _passes(True, device, n_devices, n_micro_batches, n_chunks)
        if schedule == GPIPE:
            orders.append((*forward, *reversed(backward)))
        else:
            orders.append(_alternating(forward, backward, _warm_up(device, n_devices, n_chunks)))
    return tuple(orders)


def _warm_up(device: int, n_devices: int, n_chunks: int) -> int:
    # Forwards before the first backward, the one right before it included.
    if n_chunks == 1:
        return n_devices - device
    return 2 * (n_devices - device - 1) + (n_chunks - 1) * n_devices + 1


def _passes(backward: bool, device: int, n_devices: int, n_micro_batches: int, n_chunks: int) -> tuple[Work, ...]:
    # Groups of n_devices micro-batches go through chunk after chunk.
    chunks = range(n_chunks)[::-1] if backward else range(n_chunks)
    size = n_devices if n_chunks > 1 else n_micro_batches
    return tuple(
        Work(backward, device + chunk * n_devices, micro_batch)
        for first in range(0, n_micro_batches, size)
        for chunk in chunks
        for micro_batch in range(first, min(first + size, n_micro_batches))
    )


def _alternating(forward: tuple[Work, ...], backward: tuple[Work, ...], warm_up: int) -> tuple[Work, ...]:
    first = min(warm_up, len(forward))
    order = list(forward[:first])
    for place, each in enumerate(backward):
        order.append(each)
        order.extend(forward[first + place : first + place + 1])
    return tuple(order)
