"""The reduced recursion: SPRINT from update to update, knowing only when each GPU deposits its next gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State, coupled_threads, solve_iterations, state_at
from mlperf.systems.sprint.iterations import CLOSED_FORMS, DEFAULT_FORM, ClosedForm, CoupledThreads, Periods, gpu_period_at

N_ROUNDS = 3
SHORTEST_GAP = 0.05
FIRST_AGES = 64


@dataclass(frozen=True, slots=True, eq=False)
class Refinement(Shown):
    """One configuration refined by the recursion.

    Parameters
    ----------
    state : State
        One element; ``closed`` is "recursion". Barrier, gradient-lock wait of the update and ready probability are counted, the
        other lock waits follow from eq. 7.
    update_iteration_std_err_s : float
        Standard error of T_Update over replicas.
    minibatch, buffers, staleness : Distribution
        Samples per update, fresh buffers of a node per update, updates.
    """

    state: State
    update_iteration_std_err_s: float
    minibatch: Distribution
    buffers: Distribution
    staleness: Distribution


@dataclass(frozen=True, slots=True)
class RecursionPlan:
    """How long to run: independent replicas, windows (updates) before and while counting."""

    n_replicas: int = 16
    n_warmup: int = 100
    n_windows: int = 400


@dataclass(slots=True)
class _Counts:
    """Sums over counted windows; per window and replica for updates, totals otherwise."""

    update_s: FloatArray
    gradients: IntArray
    fresh: IntArray
    ages: IntArray
    lock_s: float = 0.0
    barrier_s: float = 0.0

    def add_ages(self, ages: IntArray) -> None:
        """Count the staleness of gradients, in a longer array where one is older than any before."""
        found = np.bincount(ages, minlength=self.ages.size)
        if found.size > self.ages.size:
            self.ages = np.concatenate((self.ages, _zeros(2 * (found.size - 1))))
        self.ages[: found.size] += found


@dataclass(slots=True)
class _Deposits:
    """Next deposit of every thread relative to the last publication, and the version it will carry; shape (n, replicas, nodes)."""

    next_s: FloatArray
    version: IntArray
    gpu_s: float
    gpu_std_s: float
    overwrite_s: float
    rng: np.random.Generator

    def happen(self, next_s: FloatArray, version: IntArray, due: IntArray, window: int) -> IntArray:
        """Deposit the gradients of places ``due`` of one thread, whose flat arrays are given; the versions they carried."""
        due_s, carried = next_s[due], version[due]
        version[due] = window - (due_s < -self.overwrite_s)
        gap_s = self.gpu_s + self.gpu_std_s * self.rng.standard_normal(due.size)
        next_s[due] = due_s + np.maximum(gap_s, SHORTEST_GAP * self.gpu_s)
        return carried


def refine_by_recursion(
    times: ComponentTimes, run: RunGrid, seed: int, plan: RecursionPlan | None = None, closed: str = DEFAULT_FORM
) -> Refinement:
    """Refine a closed form of one configuration.

    Deposits before an inspection and a deposit in progress at it are followed exactly, GPUs never wait: the recursion sees the
    dependence between buffers, locks and barrier, but not phase locking.

    Parameters
    ----------
    times, run
        One configuration: shape () or one element.
    seed : int
    plan : RecursionPlan, optional
    closed : str
        The form that the recursion starts from, and that gives the waits which it does not count.

    Raises
    ------
    UsageError
        More than one configuration.
    """
    if np.prod(np.broadcast_shapes(times.shape, run.shape)) != 1:
        raise UsageError(f"got times of shape {times.shape} and a run of shape {run.shape}, expected one configuration")
    plan, rng = plan or RecursionPlan(), np.random.default_rng(seed)
    threads = coupled_threads(times, run)
    state = solve_iterations(times, run, closed)
    for _ in range(N_ROUNDS):
        counts = _run_windows(threads, state, plan, rng)
        state = _state_of(threads, counts, run, CLOSED_FORMS[closed])
    per_replica_s = counts.update_s.mean(axis=0)
    return Refinement(
        state=state,
        update_iteration_std_err_s=float(per_replica_s.std(ddof=1) / np.sqrt(per_replica_s.size)),
        minibatch=Distribution.from_counts(np.bincount(counts.gradients.ravel()), float(run.subbatch_size.item())),
        buffers=Distribution.from_counts(counts.fresh),
        staleness=Distribution.from_counts(counts.ages),
    )


def _run_windows(threads: CoupledThreads, state: State, plan: RecursionPlan, rng: np.random.Generator) -> _Counts:
    n, shape = threads.n, (plan.n_replicas, int(threads.n_nodes.item()))
    gpu_s, gpu_std_s = state.gpu_iteration_s.item(), threads.gpu_work_std_s.item()
    next_s = rng.uniform(0.0, gpu_s, (n, *shape))
    deposits = _Deposits(next_s, np.full((n, *shape), -1), gpu_s, gpu_std_s, threads.update_weights_s.item(), rng)
    rest_s = threads.update_free_s.item() + state.lock_weights_update_s.item()
    per_window = (plan.n_windows, plan.n_replicas)
    counts = _Counts(np.zeros(per_window), np.zeros(per_window, dtype=np.int64), _zeros(n + 1), _zeros(FIRST_AGES))
    for window in range(plan.n_warmup + plan.n_windows):
        kept = counts if window >= plan.n_warmup else None
        offset_s = _walk(threads, deposits, window, window - plan.n_warmup, kept)
        slowest_s = offset_s.max(axis=1)
        update_s = rest_s + slowest_s
        deposits.next_s -= update_s[:, None]
        if kept is not None:
            kept.update_s[window - plan.n_warmup] = update_s
            kept.barrier_s += float((slowest_s - offset_s.mean(axis=1)).mean())
    return counts


def _walk(threads: CoupledThreads, deposits: _Deposits, window: int, row: int, counts: _Counts | None) -> FloatArray:
    """One walk of every update thread over its buffers: when it is through, seconds after the publication."""
    sum_s, deposit_s = threads.sum_gradient_s.item(), threads.update_gradient_s.item()
    shape = deposits.next_s.shape[1:]
    size, rng = shape[0] * shape[1], deposits.rng
    offset_s, n_fresh = _noise(threads.update_weights_std_s, size, rng), _zeros(size)
    carried: list[IntArray] = []
    for next_s, version in zip(deposits.next_s.reshape(threads.n, size), deposits.version.reshape(threads.n, size), strict=True):
        n_deposits = _zeros(size)
        due = (next_s <= offset_s).nonzero()[0]
        while due.size:
            carried.append(deposits.happen(next_s, version, due, window))
            n_deposits[due] += 1
            due = due[next_s[due] <= offset_s[due]]
        busy = (next_s - deposit_s < offset_s).nonzero()[0]
        if busy.size:
            wait_s = next_s[busy] - offset_s[busy]
            offset_s[busy] = next_s[busy]
            carried.append(deposits.happen(next_s, version, busy, window))
            n_deposits[busy] += 1
            if counts is not None:
                counts.lock_s += float(wait_s.sum()) / size
        fresh = n_deposits > 0
        offset_s += np.maximum(sum_s + _noise(threads.sum_gradient_std_s, size, rng), 0.0) * fresh
        n_fresh += fresh
        if counts is not None:
            counts.gradients[row] += n_deposits.reshape(shape).sum(axis=1)
    if counts is not None:
        counts.fresh += np.bincount(n_fresh, minlength=counts.fresh.size)
        counts.add_ages(window - np.concatenate(carried) if carried else _zeros(0))
    return (offset_s + _noise(threads.update_work_std_s, size, rng)).reshape(shape)


def _noise(std_s: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Normal variation of one component on every node; draws nothing where it does not vary."""
    spread_s = std_s.item()
    return spread_s * rng.standard_normal(size) if spread_s > 0.0 else np.zeros(size)


def _state_of(threads: CoupledThreads, counts: _Counts, run: RunGrid, form: ClosedForm) -> State:
    """Counted T_Update, then T_GPU from its own equation with the probabilities of that period."""
    update_s = np.array([counts.update_s.mean()])
    at = gpu_period_at(threads, form, update_s)
    n, n_windows = threads.n, counts.update_s.shape[0]
    ready = np.array([np.arange(n + 1) @ counts.fresh / (n * counts.fresh.sum())])
    at = Periods(at.gpu_s, update_s, ready, at.fetch_probability, np.array([counts.barrier_s / n_windows]))
    state = state_at(threads, at, "recursion", form=form, lock_gradient_update_s=np.array([counts.lock_s / n_windows]))
    return state.reshaped(run.shape)


def _zeros(size: int) -> IntArray:
    return np.zeros(size, dtype=np.int64)
