"""Event simulation of asynchronous and stale-synchronous workers at parameter servers: the reference for the equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.parameter_server import events

N_DRAWS = 65_521
"""Drawn times of one worker, taken in turn: a prime, so that no period of the run repeats them."""

N_BATCHES = 20
MOST_DRAWS = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ServerPlan:
    """What to simulate.

    Parameters
    ----------
    work_s : sequence of float, shape (n_workers,)
        Mean time of each worker between the end of a service and its next gradient, seconds; one value a worker, so GPUs may be
        mixed.
    service_s : float
        Mean time of one service, seconds.
    work_variation, service_variation : float
        Coefficients of variation of the two, gamma distributed; 0 is constant, 1 exponential.
    n_servers : int
        Servers that take gradients from one queue. Servers that hold a part of the weights each are one, with a shorter service.
    bound : int or None
        Clocks that a worker may be ahead of the slowest; 0 bulk synchronous, None asynchronous.
    n_services, warmup : int
        Services counted, and services before them.
    """

    work_s: Sequence[float] | FloatArray
    service_s: float
    work_variation: float = 0.0
    service_variation: float = 0.0
    n_servers: int = 1
    bound: int | None = None
    n_services: int = 100_000
    warmup: int = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class ServerSimulation(Shown):
    """What a simulated run did after its warm-up.

    Attributes
    ----------
    updates_per_s, updates_per_s_std_err : float
        Services a second, and the standard error from 20 batch means.
    worker_updates_per_s : array, shape (n_workers,)
        Of each worker.
    utilisation : float
        Share of the time that the servers work.
    wait_s, blocked_s : float
        Mean wait of a gradient in the queue, and of a worker for the slowest one, seconds an update.
    mean_staleness : float
        Services between the fetch of the weights and the service of the gradient made with them.
    staleness : Distribution
        Of that number.
    """

    updates_per_s: float
    updates_per_s_std_err: float
    worker_updates_per_s: FloatArray
    utilisation: float
    wait_s: float
    blocked_s: float
    mean_staleness: float
    staleness: Distribution


def simulate_servers(plan: ServerPlan, seed: int) -> ServerSimulation:
    """Run workers and servers; same seed, same result.

    Raises
    ------
    UsageError
        A plan without workers, with negative or no times, or too short a run.
    """
    work = np.atleast_1d(np.asarray(plan.work_s, dtype=np.float64))
    _check(plan, work)
    rng = np.random.default_rng(seed)
    total = plan.warmup + plan.n_services
    n_draws = int(min(N_DRAWS, max(MOST_DRAWS // len(work), 64), total + 1))
    drawn = work[:, None] * _gamma(rng, plan.work_variation, (len(work), n_draws))
    service = plan.service_s * _gamma(rng, plan.service_variation, (total,))
    done, sums = np.zeros(total), np.zeros((len(work), events.N_SUMS))
    counts = np.zeros(64 * len(work) + 64, dtype=np.int64)
    bound = events.UNBOUNDED if plan.bound is None else plan.bound
    events.run_servers(drawn, service, np.zeros(plan.n_servers), bound, plan.warmup, done, sums, counts)
    ends = np.sort(done)
    began = ends[plan.warmup - 1] if plan.warmup else 0.0
    spent = ends[-1] - began
    parts = np.array_split(np.diff(ends[plan.warmup :]), N_BATCHES)
    rates = np.array([len(part) / part.sum() for part in parts])
    return ServerSimulation(
        updates_per_s=plan.n_services / spent,
        updates_per_s_std_err=float(rates.std(ddof=1) / np.sqrt(N_BATCHES)),
        worker_updates_per_s=sums[:, events.SERVED] / spent,
        utilisation=float(sums[:, events.BUSY_S].sum() / spent / plan.n_servers),
        wait_s=float(sums[:, events.WAIT_S].sum() / plan.n_services),
        blocked_s=float(sums[:, events.BLOCKED_S].sum() / plan.n_services),
        mean_staleness=float(sums[:, events.STALENESS].sum() / plan.n_services),
        staleness=Distribution.from_counts(counts),
    )


def _gamma(rng: np.random.Generator, variation: float, shape: tuple[int, ...]) -> FloatArray:
    """Factors with mean 1 and this coefficient of variation."""
    return np.ones(shape) if variation == 0.0 else rng.gamma(variation**-2, variation**2, shape)


def _check(plan: ServerPlan, work: FloatArray) -> None:
    times = np.append(work, (plan.service_s, plan.work_variation, plan.service_variation))
    if work.ndim != 1 or not len(work) or not np.isfinite(times).all() or (times < 0.0).any():
        raise UsageError(f"got work_s {work} and service_s {plan.service_s}, expected a time >= 0 of every worker")
    if work.min() + plan.service_s <= 0.0:
        raise UsageError("got a worker that takes no time at all, expected more than 0 s of work or service")
    if plan.n_servers < 1 or (plan.bound is not None and plan.bound < 0):
        raise UsageError(f"got {plan.n_servers} servers and bound {plan.bound}, expected at least 1 and 0 (or None)")
    if plan.n_services < N_BATCHES * 10 or plan.warmup < 0:
        raise UsageError(f"got {plan.n_services} services, expected at least {10 * N_BATCHES}")
