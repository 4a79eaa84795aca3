"""One server shared by workers of several kinds (mixed GPUs): exact for exponential service, close for any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.systems.coupling.queues import DETERMINISTIC, EXPONENTIAL, checked_queue, closed_queue

N_NODES = 64
LOST = 44.0
"""Weights below e**-44 of the largest change no digit."""
BLOCK = 4096
NEWTON_STEPS = 12
MODE_STEPS, EDGE_STEPS = 24, 12
"""Bisections: the integral runs a little further than it has to, and is scaled near its largest weight; neither needs digits."""


@dataclass(frozen=True, slots=True, eq=False)
class MixedQueue(Shown):
    """Long-run means of a closed queue with kinds of workers.

    Attributes
    ----------
    throughput_per_s : array, shape (..., n_kinds)
        Services a second of each kind.
    response_s : array, shape (..., n_kinds)
        From joining the queue to the end of the service, seconds.
    utilisation : array, shape (...)
        Share of the time that the server works.
    queue_length : array, shape (..., n_kinds)
        Workers of each kind at the server.
    """

    throughput_per_s: FloatArray
    response_s: FloatArray
    utilisation: FloatArray
    queue_length: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration and kind."""
        names = ("throughput_per_s", "response_s", "queue_length")
        return pd.DataFrame({name: np.ravel(getattr(self, name)) for name in names})


def mixed_queue(think_s: Any, service_s: Any, n_workers: Any, service_scv: Any = DETERMINISTIC) -> MixedQueue:
    """Kinds of workers, each with its own think time, at one server with any service time.

    Waits are those of `mixed_queue_exact`, which holds for exponential service, times what the variation of the service changes in
    `closed_queue` for the average worker (who has the kinds' mean rate alone at the server), and at least so long that the server
    is asked for no more than all of its time.

    Parameters
    ----------
    think_s, service_s : array, shape (..., n_kinds)
        Of each kind, seconds.
    n_workers : array, shape (..., n_kinds)
        Whole numbers >= 0, at least one worker in all.
    service_scv : array, shape (...)
        Squared coefficient of variation of the service time, as in `closed_queue`.

    Returns
    -------
    MixedQueue
        Exact for exponential service; equal to `closed_queue` where all kinds are alike.
    """
    think, service, workers = _checked(think_s, service_s, n_workers)
    exact = mixed_queue_exact(think, service, workers)
    totals = workers.sum(axis=-1)
    alone = workers / (think + service)
    mean_service = (alone * service).sum(axis=-1) / alone.sum(axis=-1)
    mean_think = np.maximum(totals / alone.sum(axis=-1) - mean_service, 0.0)
    wait = closed_queue(mean_think, mean_service, totals, service_scv).wait_s
    random_wait = closed_queue(mean_think, mean_service, totals, EXPONENTIAL).wait_s
    changed = np.divide(wait, random_wait, out=np.ones(totals.shape), where=random_wait > 0.0)
    response = service + np.maximum(exact.response_s - service, 0.0) * changed[..., None]
    return _mixed(think, service, workers, _within_capacity(think, service, workers, response))


def _within_capacity(think: FloatArray, service: FloatArray, workers: FloatArray, response: FloatArray) -> FloatArray:
    """Responses raised by one wait for all kinds wherever the server would be asked for more than all of its time."""
    cycle, load = think + response, workers * service
    over = (load / cycle).sum(axis=-1) > 1.0
    if not over.any():
        return response
    cycle, load = cycle[over], load[over]
    wait = np.zeros(len(cycle))
    for _ in range(NEWTON_STEPS):
        # From the left of a falling convex function: never too far.
        shares = load / (cycle + wait[:, None])
        wait += (shares.sum(axis=-1) - 1.0) / (shares / (cycle + wait[:, None])).sum(axis=-1)
    raised = response.copy()
    raised[over] += wait[:, None]
    return raised


def mixed_queue_exact(think_s: Any, service_s: Any, n_workers: Any) -> MixedQueue:
    """The exact means for exponential service (one mean for all kinds, or processor sharing), at a cost that is free of N.

    X_c = N_c <1 / (Z_c + S_c t)>, the mean over t >= 0 with weight e**-t prod_c (Z_c + S_c t)**N_c, a log-concave function:
    Gauss-Legendre with 64 nodes between the points where it has fallen to e**-44.

    Parameters
    ----------
    think_s, service_s, n_workers : array, shape (..., n_kinds)
        As in `mixed_queue`.

    Returns
    -------
    MixedQueue
        Within 1e-11 of the recursion over all populations.

    References
    ----------
    McKenna and Mitra (1982), Integral representations and asymptotic expansions for closed Markovian queueing networks, eq. 3.
    """
    think, service, workers = _checked(think_s, service_s, n_workers)
    shape, n_kinds = think.shape, think.shape[-1]
    flat = [each.reshape(-1, n_kinds) for each in (think, service, workers)]
    response = np.empty(flat[0].shape)
    for start in range(0, len(response), BLOCK):
        part = slice(start, start + BLOCK)
        response[part] = _integral_responses(*(each[part] for each in flat))
    return _mixed(think, service, workers, response.reshape(shape))


def _integral_responses(think: FloatArray, service: FloatArray, workers: FloatArray) -> FloatArray:
    """R_c = N_c / X_c - Z_c, shape (n_configs, n_kinds)."""
    # In units of each configuration's own seconds: kinds without workers count as one that takes no time.
    there = workers > 0.0
    z, s = np.where(there, think, 1.0), np.where(there, service, 0.0)
    mode = _mode(z, s, workers)
    top = _log_weight(mode, z, s, workers)
    low, high = _edge(mode, top, z, s, workers, -1.0), _edge(mode, top, z, s, workers, 1.0)
    nodes, quadrature = np.polynomial.legendre.leggauss(N_NODES)
    t = low[:, None] + (high - low)[:, None] * (0.5 + 0.5 * nodes)
    cycles = [z[:, kind, None] + s[:, kind, None] * t for kind in range(z.shape[1])]
    log_weight = -t - top[:, None]
    for kind, cycle in enumerate(cycles):
        log_weight += workers[:, kind, None] * np.log(np.where(workers[:, kind, None] > 0, cycle, 1.0))
    weight = quadrature * np.exp(log_weight)
    total = weight.sum(axis=1)
    means = np.stack([(weight / cycle).sum(axis=1) / total for cycle in cycles], axis=1)
    return np.asarray(np.where(there, np.maximum(1.0 / means - z, s), service))


def _log_weight(t: FloatArray, think: FloatArray, service: FloatArray, workers: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(workers > 0.0, workers * np.log(think + service * t[:, None]), 0.0)
    return np.asarray(logs.sum(axis=1) - t)


def _mode(think: FloatArray, service: FloatArray, workers: FloatArray) -> FloatArray:
    """Where 1 = sum_c N_c S_c / (Z_c + S_c t), at least 0: between 0 and N, by bisection."""
    low, high = np.zeros(len(think)), workers.sum(axis=1)
    for _ in range(MODE_STEPS):
        middle = 0.5 * (low + high)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(service > 0.0, workers * service / (think + service * middle[:, None]), 0.0)
        rising = terms.sum(axis=1) > 1.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.asarray(high)


def _edge(
    mode: FloatArray, top: FloatArray, think: FloatArray, service: FloatArray, workers: FloatArray, side: float
) -> FloatArray:
    """Where the weight has fallen to e**-44 of its largest on one side of the mode, not below 0."""
    near = mode
    far = np.zeros(len(mode)) if side < 0 else mode + LOST + 16.0 * np.sqrt(workers.sum(axis=1) + 16.0) + 2.0 * LOST
    for _ in range(EDGE_STEPS):
        middle = 0.5 * (near + far)
        inside = _log_weight(middle, think, service, workers) > top - LOST
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return far


def _checked(think_s: Any, service_s: Any, n_workers: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    given = (np.asarray(each, dtype=np.float64) for each in (think_s, service_s, n_workers))
    think, service, workers = np.broadcast_arrays(*given)
    if think.ndim == 0 or not think.shape[-1]:
        raise DataError("got one number, expected one for each kind of worker along the last axis", place="mixed queue")
    if (workers < 0.0).any() or (workers.sum(axis=-1) < 1.0).any():
        raise DataError("got fewer than one worker, expected counts >= 0 and at least one in all", place="mixed queue")
    checked_queue(think, service, np.maximum(workers, 1.0), 0.0)
    return think, service, workers


def _mixed(think: FloatArray, service: FloatArray, workers: FloatArray, response: FloatArray) -> MixedQueue:
    throughput = workers / (think + response)
    return MixedQueue(throughput, response, (throughput * service).sum(axis=-1), throughput * response)
