"""One server that several workers share: a closed queue by mean-value analysis, its bounds and its saturation point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray, distinct_rows
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown

BLOCK = 8192
"""Queues that go through the recursion together: their arrays stay in the cache."""

FEW = 512
"""Up to so many configurations go through the recursion each for itself: looking for those alike takes longer than it saves."""

LEAVE = 16
"""Steps of the recursion from one look for queues that are full to the next."""

DETERMINISTIC, EXPONENTIAL = 0.0, 1.0
"""Squared coefficients of variation of the service time."""

_Alike = tuple[FloatArray, FloatArray, FloatArray, IntArray, IntArray]
"""Think time, service time and c^2 of queues, and the queue and number of workers of configurations."""


@dataclass(frozen=True, slots=True, eq=False)
class ClosedQueue(Shown):
    """Long-run means of a closed queue; every array has the broadcast shape of what was given.

    Attributes
    ----------
    throughput_per_s : array
        Services a second, of all workers together.
    response_s : array
        From joining the queue to the end of the service, seconds.
    wait_s : array
        Of it before the service begins, seconds.
    utilisation : array
        Share of the time that the server works; with several servers their mean.
    queue_length : array
        Workers at the server, the one in service included.
    """

    throughput_per_s: FloatArray
    response_s: FloatArray
    wait_s: FloatArray
    utilisation: FloatArray
    queue_length: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration."""
        return pd.DataFrame({name: np.ravel(getattr(self, name)) for name in self.__slots__})


def closed_queue(think_s: Any, service_s: Any, n_workers: Any, service_scv: Any = DETERMINISTIC) -> ClosedQueue:
    """Workers that think and then queue for one server, first come, first served, by exact recursion over their number.

    A worker that joins n - 1 others finds Q(n-1) of them at the server, U(n-1) of whom in service:

        R(n) = S + (Q - U) S + U S (1 + c^2) / 2,    X(n) = n / (Z + R(n)),    Q = X R,    U = X S

    with the residual S (1 + c^2) / 2 of a service that has begun, and X <= 1/S.

    Parameters
    ----------
    think_s : array
        Z, mean time between the end of a service and joining the queue again, seconds >= 0; its distribution does not matter for
        exponential service.
    service_s : array
        S, mean service time, seconds >= 0; not both 0.
    n_workers : array
        Whole numbers >= 1.
    service_scv : array
        c^2, squared coefficient of variation of the service time: 0 deterministic (residual S/2), 1 exponential.

    Returns
    -------
    ClosedQueue
        Exact to rounding where c^2 is 1 (the machine repairman) or there is one worker. Otherwise the mean of arrivals at random:
        see `finite_source_queue` for the exact value where think times are exponential.

    Raises
    ------
    DataError
        A negative or infinite time, no time at all, a number of workers that is not whole or below 1.

    References
    ----------
    Reiser and Lavenberg (1980), Mean-value analysis of closed multichain queuing networks; the residual as in Oyama et al.
    (SPRINT), eq. 7: T**2 / (2 T_period) = U T / 2.
    """
    think, service, workers, scv = checked_queue(think_s, service_s, n_workers, service_scv)
    shape = workers.shape
    response = np.empty(workers.size)
    split = _each if workers.size <= FEW else _blocks
    for rows, alike in split(think.ravel(), service.ravel(), scv.ravel(), workers.ravel().astype(np.int64)):
        response[rows] = _responses(*alike)
    return queue_of(think, service, workers, response.reshape(shape))


def _each(think: FloatArray, service: FloatArray, scv: FloatArray, workers: IntArray) -> Iterator[tuple[IntArray, _Alike]]:
    """Configurations in the order of rising numbers of workers, each a queue of its own."""
    rows = np.argsort(workers, kind="stable")
    yield rows, (think[rows], service[rows], scv[rows], np.arange(len(rows)), workers[rows])


def _blocks(think: FloatArray, service: FloatArray, scv: FloatArray, workers: IntArray) -> Iterator[tuple[IntArray, _Alike]]:
    """Configurations, some queues at a time: queues alike but for their number of workers go through the recursion as one."""
    codes, first = distinct_rows(think, service, scv)
    most = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(most, codes, workers)
    # From many workers to few, so that queues which need as many steps stand together.
    ranked = np.argsort(-most, kind="stable")
    place = np.empty_like(ranked)
    place[ranked] = np.arange(len(ranked))
    codes, first = place[codes], first[ranked]
    rows = np.lexsort((workers, codes // BLOCK))
    ends = np.searchsorted(codes[rows] // BLOCK, np.arange(1 + (len(first) - 1) // BLOCK), side="right")
    for block, part in enumerate(np.split(rows, ends[:-1])):
        queues = first[block * BLOCK : (block + 1) * BLOCK]
        yield part, (think[queues], service[queues], scv[queues], codes[part] - block * BLOCK, workers[part])


def _responses(think: FloatArray, service: FloatArray, scv: FloatArray, queue: IntArray, workers: IntArray) -> FloatArray:
    """R(workers) of configurations of some queues, in the order of rising numbers of workers.

    A server that is full stays so where services vary no more than exponential ones: R(n) = n S - Z from there on, and the queue
    leaves the recursion.
    """
    last = int(workers[-1]) if len(workers) else 0
    starts = np.searchsorted(workers, np.arange(1, last + 2), side="left")
    wanted = np.empty(len(workers))
    full_from = np.full(len(think), last + 1, dtype=np.int64)
    # What stands where: queue number of each place in the recursion, and place of each queue.
    live, place = np.arange(len(think)), np.arange(len(think))
    z, s, response, stays = think, service, service.copy(), scv <= EXPONENTIAL
    # What a service in progress costs less (or more) than a whole one.
    saved = service * service * (0.5 - 0.5 * scv)
    for n in range(1, last + 1):
        if n > 1:
            found = s + (n - 1) / (z + response) * (response * s - saved)
            response = np.maximum(found, n * s - z)
            if n % LEAVE == 0:
                full = stays & (found < n * s - z)
                full_from[live[full]] = n
                kept = ~full
                place[live[kept]] = np.arange(np.count_nonzero(kept))
                place[live[full]] = 0
                z, s, response, saved = (each[kept] for each in (z, s, response, saved))
                live, stays = live[kept], stays[kept]
                if not len(live):
                    break
        rows = slice(int(starts[n - 1]), int(starts[n]))
        wanted[rows] = response[place[queue[rows]]]
    return np.where(workers < full_from[queue], wanted, workers * service[queue] - think[queue])


def queue_of(think: FloatArray, service: FloatArray, workers: FloatArray, response: FloatArray) -> ClosedQueue:
    """The queue of a response time, by Little's law."""
    throughput = workers / (think + response)
    return ClosedQueue(throughput, response, response - service, throughput * service, throughput * response)


def saturation_workers(think_s: Any, service_s: Any) -> FloatArray:
    """N* = (Z + S) / S, where the two asymptotes cross: beyond it workers mostly wait; infinite where the server takes no time.

    References
    ----------
    Kleinrock (1976), Queueing Systems II, section 4.12.
    """
    think, service = np.broadcast_arrays(np.asarray(think_s, float), np.asarray(service_s, float))
    return np.asarray(np.divide(think + service, service, out=np.full(service.shape, np.inf), where=service > 0.0))


def throughput_bounds(think_s: Any, service_s: Any, n_workers: Any) -> tuple[FloatArray, FloatArray]:
    """Least and largest throughput of any closed queue with these means, services a second.

    ``N / (Z + N S)``, where everybody finds everybody before them, and ``min(N / (Z + S), 1 / S)``, where nobody waits before the
    server is full (a worker's times that do not vary reach it).
    """
    think, service, workers, _ = checked_queue(think_s, service_s, n_workers, 0.0)
    return workers / (think + workers * service), workers / np.maximum(think + service, workers * service)


def checked_queue(think_s: Any, service_s: Any, n_workers: Any, service_scv: Any) -> tuple[FloatArray, ...]:
    """The four as arrays of one shape; DataError where they make no queue."""
    given = [np.asarray(each, dtype=np.float64) for each in (think_s, service_s, n_workers, service_scv)]
    shape = np.broadcast(*given).shape
    think, service, workers, scv = (each if each.shape == shape else _filled(each, shape) for each in given)
    for name, values in (("think time", think), ("service time", service), ("squared coefficient of variation", scv)):
        _refuse(~(np.isfinite(values) & (values >= 0.0)), values, name, "a finite number >= 0")
    _refuse(
        ~((workers >= 1.0) & (workers == np.floor(workers)) & np.isfinite(workers)), workers, "number of workers", "1, 2, 3, ..."
    )
    _refuse(think + service <= 0.0, think + service, "think and service time together", "more than 0 seconds")
    return think, service, workers, scv


def _filled(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Values repeated to a shape: a copy, for which numpy takes a tenth of the time of the view that `numpy.broadcast_to` makes."""
    found = np.empty(shape)
    found[...] = values
    return found


def _refuse(wrong: Any, values: FloatArray, name: str, expected: str) -> None:
    if np.any(wrong):
        raise DataError(f"got {float(values[wrong].ravel()[0]):g} for the {name}, expected {expected}", place="closed queue")
