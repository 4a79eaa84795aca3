"""Closed queues with a closed form: several servers at one queue, and one server with any service time and random arrivals."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.coupling.queues import ClosedQueue, checked_queue, queue_of

LARGE = 1e150
LEAST_THINK = 1e-17
"""Of the service time: below it thinking changes no digit."""


def pooled_queue(think_s: Any, service_s: Any, n_workers: Any, n_servers: Any) -> ClosedQueue:
    """Workers that queue for the first free one of several equal servers; exponential service, any think time.

    With k workers at the servers, p_k / p_(k-1) = (N - k + 1) S / (Z min(k, n_servers)): the machine repairmen.

    Parameters
    ----------
    think_s, service_s, n_workers : array
        As in `closed_queue`.
    n_servers : array
        Servers that take work from one queue, >= 1; a server that holds a part of every gradient is no such server.

    Returns
    -------
    ClosedQueue
        Exact to rounding. ``utilisation`` is the mean of the servers.

    References
    ----------
    Kleinrock (1975), Queueing Systems I, section 3.8 (M/M/m with finite population).
    """
    think, service, workers, servers = checked_queue(think_s, service_s, n_workers, n_servers)
    if (servers < 1.0).any() or (servers != np.floor(servers)).any():
        wrong = servers[(servers < 1.0) | (servers != np.floor(servers))].ravel()[0]
        raise DataError(f"got {float(wrong):g} servers, expected 1, 2, 3, ...", place="closed queue")
    ratio = np.divide(service, think, out=np.full(think.shape, 1.0 / LEAST_THINK), where=think > LEAST_THINK * service)
    term, total = np.ones(think.shape), np.ones(think.shape)
    busy, present = np.zeros(think.shape), np.zeros(think.shape)
    for k in range(1, int(workers.max(initial=0.0)) + 1):
        term = term * (np.maximum(workers - k + 1.0, 0.0) * ratio / np.minimum(k, servers))
        total = total + term
        busy = busy + np.minimum(k, servers) * term
        present = present + k * term
        scale = np.where(term > LARGE, 1.0 / LARGE, 1.0)
        if (scale < 1.0).any():
            term, total, busy, present = term * scale, total * scale, busy * scale, present * scale
    busy, present = busy / total, present / total
    idle = service <= 0.0
    throughput = np.divide(busy, service, out=np.divide(workers, think, out=np.zeros(think.shape), where=think > 0), where=~idle)
    response = np.where(idle, 0.0, present / np.where(throughput > 0.0, throughput, 1.0))
    return ClosedQueue(throughput, response, np.maximum(response - service, 0.0), busy / servers, present)


def finite_source_queue(think_s: Any, service_s: Any, n_workers: Any, service_scv: Any = 0.0) -> ClosedQueue:
    """One server, exponential think times, gamma service of any variation: exact where `closed_queue` takes arrivals as random.

    The server is idle for the share 1 / (1 + N (S/Z) sum_{k<N} C(N-1, k) prod_{j<=k} (1/phi(j/Z) - 1)) of the time, phi the
    Laplace transform of the service time.

    Parameters
    ----------
    think_s, service_s, n_workers, service_scv : array
        As in `closed_queue`; think times > 0, exponential. c^2 = 0 is a constant service, 1 an exponential one.

    References
    ----------
    Ashcroft (1950), The productivity of several machines under the care of one operator; Takacs (1962), Introduction to the Theory
    of Queues, chapter 5.
    """
    think, service, workers, scv = checked_queue(think_s, service_s, n_workers, service_scv)
    if (think <= 0.0).any():
        raise DataError("got a think time of 0 s, expected more: think times are exponential", place="closed queue")
    ratio = service / think
    logs, total = np.zeros(think.shape), np.zeros(think.shape)
    for k in range(1, int(workers.max(initial=1.0))):
        inside = k < workers
        share = np.where(inside, (workers - k) / k, 1.0)
        logs = np.where(inside, logs + np.log(share) + _log_excess(k * ratio, scv), -np.inf)
        total = np.logaddexp(total, logs)
    idle_share = 1.0 / (1.0 + np.where(ratio > 0.0, workers * ratio * np.exp(np.minimum(total, 700.0)), 0.0))
    throughput = np.divide(1.0 - idle_share, service, out=np.asarray(workers / think), where=service > 0.0)
    return queue_of(think, service, workers, workers / throughput - think)


def _log_excess(rate_times_service: FloatArray, scv: FloatArray) -> FloatArray:
    """log(1 / phi(s) - 1) of a gamma service time: 1/phi = (1 + c^2 s S) ** (1 / c^2), e^(s S) where it is constant."""
    varied = scv > 0.0
    safe = np.where(varied, scv, 1.0)
    exponent = np.where(varied, np.log1p(safe * rate_times_service) / safe, rate_times_service)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(exponent > 36.0, exponent, np.log(np.expm1(np.minimum(exponent, 40.0)))))
