"""The fixed point of SPRINT: T_GPU and T_Update of whole grids of configurations, and what is flagged there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.progress import tracked
from mlperf.core.shown import Shown
from mlperf.systems.base.times import SPREADS, WAITS, ComponentTimes, RunGrid
from mlperf.systems.coupling.locks import lock_wait
from mlperf.systems.coupling.roots import decreasing_root
from mlperf.systems.sprint.iterations import (
    CLOSED_FORMS,
    DEFAULT_FORM,
    EXACT,
    ClosedForm,
    CoupledThreads,
    Periods,
    log_mismatch,
    log_ratio_guess,
    periods_at,
)

FETCH_BURST_SHARE = 0.5
BUSY_GRADIENT_LOCK_SHARE = 0.2
PHASE_LOCKING_SHARE = 0.05


def sprint_flags(threads: CoupledThreads, at: Periods) -> dict[str, BoolArray]:
    """Validity flags by name; arrays of shape (n_configs,).

    ``weights_lock_saturated``: the weights lock is asked for more than it has (a solution exists but has no meaning).
    ``fetch_burst``: fetches of a node fill half of T_GPU. ``gradient_lock_busy``: deposits fill a fifth of it.
    ``phase_locking_risk``: less jitter than one deposit, so that T_GPU / T_Update may lock onto a small rational number; neither
    a closed form nor the recursion sees that. ``clamp``: T_Update >= T_GPU, every buffer is fresh.
    """
    gpu_s, update_s, deposit_s = at.gpu_s, at.update_s, threads.update_gradient_s
    fetches_s = threads.n_gpus_per_node * threads.fetch_weights_s
    weights_load = fetches_s * at.fetch_probability / gpu_s + threads.update_weights_s / update_s
    long_deposit = deposit_s > PHASE_LOCKING_SHARE * np.minimum(gpu_s, update_s)
    return {
        "weights_lock_saturated": weights_load > 1.0,
        "fetch_burst": fetches_s / gpu_s > FETCH_BURST_SHARE,
        "gradient_lock_busy": deposit_s / gpu_s > BUSY_GRADIENT_LOCK_SHARE,
        "phase_locking_risk": (threads.gpu_work_std_s < deposit_s) & long_deposit,
        "clamp": update_s >= gpu_s,
    }


CHUNK = 4096
SCAN_POINTS = 33
SCAN_REACH = {"paper": 14.0, "second_moment": 14.0, "convolution": 7.0, "phases": 7.0}


@dataclass(frozen=True, slots=True, eq=False)
class State(Shown):
    """The solved iterations; every array has the broadcast shape of times and run, usually (n_configs,).

    Parameters
    ----------
    gpu_iteration_s, update_iteration_s : array
        T_GPU and T_Update, seconds.
    ready_probability, fetch_probability : array
        Share of inspections that find a fresh buffer (p), share of GPU iterations that copy new weights (q).
    lock_weights_gpu_s, lock_gradient_gpu_s : array
        Mean lock waits of one GPU iteration, seconds.
    lock_gradient_update_s, lock_weights_update_s : array
        Mean lock waits of one update, all n buffers together, seconds.
    barrier_wait_s : array
        Mean wait of a node at the all-reduce, seconds.
    gpu_std_s : array
        Standard deviation of T_GPU that the equations used, seconds.
    residual : array
        Relative mismatch of both sides of the equations.
    closed : array of str
        Closed form of every configuration.
    flags : mapping of str to bool array
        ``weights_lock_saturated``, ``fetch_burst``, ``gradient_lock_busy``, ``phase_locking_risk``, ``clamp`` (T_Update >= T_GPU:
        every buffer is fresh) and, after ``check_unique=True``, ``several_roots``.
    """

    gpu_iteration_s: FloatArray
    update_iteration_s: FloatArray
    ready_probability: FloatArray
    fetch_probability: FloatArray
    lock_weights_gpu_s: FloatArray
    lock_gradient_gpu_s: FloatArray
    lock_gradient_update_s: FloatArray
    lock_weights_update_s: FloatArray
    barrier_wait_s: FloatArray
    gpu_std_s: FloatArray
    residual: FloatArray
    closed: np.ndarray
    flags: Mapping[str, BoolArray]

    def reshaped(self, shape: tuple[int, ...]) -> State:
        """The same configurations in another shape."""
        arrays = {name: getattr(self, name).reshape(shape) for name in self.__slots__ if name != "flags"}
        return State(**arrays, flags={name: flag.reshape(shape) for name, flag in self.flags.items()})

    def take(self, rows: IntArray) -> State:
        """The configurations ``rows`` (indices into the last axis)."""
        arrays = {name: getattr(self, name)[..., rows] for name in self.__slots__ if name != "flags"}
        return State(**arrays, flags={name: flag[..., rows] for name, flag in self.flags.items()})

    @property
    def ratio(self) -> FloatArray:
        """T_Update / T_GPU, rho of the equations."""
        return np.asarray(self.update_iteration_s / self.gpu_iteration_s)


def solve_iterations(
    times: ComponentTimes, run: RunGrid, closed: str = DEFAULT_FORM, *, check_unique: bool = False, tolerance: float = EXACT
) -> State:
    """Solve the coupled iterations of every configuration.

    Parameters
    ----------
    times : ComponentTimes
    run : RunGrid
        Broadcasts with ``times``; a leading axis of ``times`` (perturbations, draws) is allowed.
    closed : {"phases", "convolution", "second_moment", "paper"}
        ``paper``: min() probabilities, squared mean holds, binomial barrier (reproduces the publication).
        ``second_moment``: jitter-aware probabilities, second moments, overdispersed barrier. ``convolution``: as before,
        and the barrier counts lock waits. ``phases``: as before, and two threads that have just met are known not to meet
        again before a period is over, which ends most waits of a GPU for its buffer and of an update for the weights; and at the
        barrier a wait for a buffer tells that it is fresh.
    check_unique : bool
        Scan 33 ratios for further roots and flag configurations that have them.
    tolerance : float
        Relative precision of both periods.

    Raises
    ------
    UsageError
        Unknown closed form, or shapes that do not broadcast.
    DataError
        A thread has no work of its own.
    FitError
        No solution with a ratio between 1e-12 and 1e12.

    References
    ----------
    Oyama et al. (SPRINT), eqs. 4 to 8 and Tables 3 and 4.
    """
    if closed not in CLOSED_FORMS:
        raise UsageError(f"got closed form {closed!r}, expected one of {', '.join(CLOSED_FORMS)}")
    threads = coupled_threads(times, run)
    form = replace(CLOSED_FORMS[closed], tolerance=tolerance)
    state = state_at(threads, _solved_threads(threads, form), closed)
    if check_unique:
        n_roots = _by_chunk(threads, lambda part: _RootCount(_count_roots(part, form, SCAN_REACH[closed])))
        state = replace(state, flags={**state.flags, "several_roots": n_roots.n_roots != 1})
    return state.reshaped(np.broadcast_shapes(times.shape, run.shape))


def solve_periods(times: ComponentTimes, run: RunGrid, closed: str, tolerance: float) -> Periods:
    """The periods of `solve_iterations` alone, of the broadcast shape: neither waits of each lock nor flags."""
    threads = coupled_threads(times, run)
    solved = _solved_threads(threads, replace(CLOSED_FORMS[closed], tolerance=tolerance))
    shape = np.broadcast_shapes(times.shape, run.shape)
    return Periods(*(getattr(solved, name).reshape(shape) for name in Periods.__slots__))


def coupled_threads(times: ComponentTimes, run: RunGrid) -> CoupledThreads:
    """Both threads of every configuration, flattened to shape (n_configs,).

    Raises
    ------
    UsageError
        ``times`` and ``run`` do not broadcast.
    """
    try:
        shape = np.broadcast_shapes(times.shape, run.shape)
    except ValueError as error:
        shapes = f"times of shape {times.shape} and a run grid of shape {run.shape}"
        raise UsageError(f"got {shapes}, expected shapes that broadcast") from error
    per_buffer = times.sum_gradient_s if times.barrier_per_buffer_s is None else times.barrier_per_buffer_s
    every = {
        "gpu_free_s": times.gpu_work_s + times.update_gradient_s,
        "update_free_s": times.update_work_s + times.update_weights_s,
        "fetch_weights_s": times.fetch_weights_s,
        "update_gradient_s": times.update_gradient_s,
        "sum_gradient_s": times.sum_gradient_s,
        "update_weights_s": times.update_weights_s,
        "gpu_work_std_s": np.hypot(times.gpu_work_std_s, times.spread_s("update_gradient")),
        "barrier_per_buffer_s": per_buffer,
        "n_nodes": run.n_nodes.astype(np.float64),
        "n_gpus_per_node": run.n_gpus_per_node,
        "work_before_share": _before_share(times),
        **{f"{name}_factor": times.wait_factor(name) for name in WAITS},
        **{f"{name}_std_s": times.spread_s(name) for name in SPREADS},
    }
    return CoupledThreads(**{name: np.broadcast_to(value, shape).ravel() for name, value in every.items()})


def _before_share(times: ComponentTimes) -> FloatArray:
    """Share of the update thread's own work, all-reduce apart, that comes before it inspects the buffers again."""
    whole_s = times.update_old_weights_s + times.add_momentum_s + times.update_momentum_s
    return np.asarray(times.update_momentum_s / np.where(whole_s > 0.0, whole_s, 1.0))


def _check_own_work(threads: CoupledThreads) -> None:
    for name, free_s in (("GPU thread", threads.gpu_free_s), ("update thread", threads.update_free_s)):
        if (free_s <= 0.0).any():
            hint = "Give at least one of its components a time."
            raise DataError(f"got a {name} without work of its own, expected > 0 s outside locks", hint=hint)


Solved = TypeVar("Solved", Periods, "_RootCount")


@dataclass(frozen=True, slots=True)
class _RootCount:
    n_roots: IntArray


def _solved_threads(threads: CoupledThreads, form: ClosedForm) -> Periods:
    _check_own_work(threads)
    return _by_chunk(threads, lambda part: _solve_chunk(part, form))


def _by_chunk(threads: CoupledThreads, solve: Callable[[CoupledThreads], Solved]) -> Solved:
    """Solve groups of equal GPUs per node (sums over buffers have that many terms) in chunks that fit a cache."""
    rows_of = [np.flatnonzero(threads.n_gpus_per_node == n) for n in np.unique(threads.n_gpus_per_node)]
    chunks = [rows[start : start + CHUNK] for rows in rows_of for start in range(0, rows.size, CHUNK)]
    parts = [solve(threads.take(rows)) for rows in tracked(chunks, "equations solved")]
    order = np.argsort(np.concatenate(chunks), kind="stable")
    kind = type(parts[0])
    return kind(*(np.concatenate([getattr(part, name) for part in parts])[order] for name in kind.__slots__))


def _solve_chunk(threads: CoupledThreads, form: ClosedForm) -> Periods:
    last = _LastPeriods(threads, form)
    tolerances = {"x_tolerance": 0.1 * form.tolerance, "f_tolerance": 0.01 * form.tolerance}
    root = decreasing_root(last.mismatch, log_ratio_guess(threads), **tolerances)
    return last.at(root) if form.tolerance > EXACT else periods_at(threads, form, root)


class _LastPeriods:
    """Periods of a chunk at the ratio where the search of a root was last: mostly the root itself, or as near as was asked."""

    def __init__(self, threads: CoupledThreads, form: ClosedForm) -> None:
        self._threads, self._form = threads, form
        self._log_ratio = np.full(threads.n_nodes.size, np.nan)
        self._found = {name: np.empty(threads.n_nodes.size) for name in Periods.__slots__}

    def mismatch(self, log_ratio: FloatArray, rows: IntArray) -> FloatArray:
        """ln(U/G) - ln rho of the configurations ``rows``."""
        found = periods_at(self._threads if rows.size == self._log_ratio.size else self._threads.take(rows), self._form, log_ratio)
        self._log_ratio[rows] = log_ratio
        for name, kept in self._found.items():
            kept[rows] = getattr(found, name)
        return np.asarray(np.log(found.update_s / found.gpu_s) - log_ratio)

    def at(self, log_ratio: FloatArray) -> Periods:
        """Periods of every configuration; worked out again where the search was last elsewhere."""
        elsewhere = np.flatnonzero(self._log_ratio != log_ratio)
        if elsewhere.size:
            self.mismatch(log_ratio[elsewhere], elsewhere)
        return Periods(**self._found)


def _count_roots(threads: CoupledThreads, form: ClosedForm, reach: float) -> IntArray:
    scan = np.linspace(-reach, reach, SCAN_POINTS)
    above = np.stack([log_mismatch(threads, form, np.full(threads.n_nodes.size, x)) > 0.0 for x in scan])
    return np.asarray(np.count_nonzero(above[1:] != above[:-1], axis=0), dtype=np.int64)


def state_at(
    threads: CoupledThreads,
    at: Periods,
    closed: str,
    *,
    form: ClosedForm | None = None,
    lock_gradient_update_s: FloatArray | None = None,
) -> State:
    """Lock waits, residual and flags of solved iterations; shape (n_configs,).

    ``form`` has the holds where ``closed`` names another method; a counted ``lock_gradient_update_s`` replaces that of eq. 7.
    """
    form = CLOSED_FORMS[closed] if form is None else form
    n, gpu_s, update_s = threads.n_gpus_per_node, at.gpu_s, at.update_s
    fetches, sums = (
        threads.fetches_s2(at.fetch_probability, form.hold_power),
        threads.sums_s2(at.ready_probability, form.hold_power),
    )
    for_weights_s = lock_wait(threads.overwrites_s2(form.hold_power), update_s) + (n - 1) * lock_wait(fetches, gpu_s)
    met_fetches = fetches
    if form.phases:
        sums, met_fetches = (met(gpu_s, update_s, at.ready_probability) for met in (threads.met_sums_s2, threads.met_fetches_s2))
        queue_s = threads.queue_s(gpu_s, update_s, at.ready_probability)
        for_weights_s = for_weights_s * gpu_s / (gpu_s - queue_s)
    if lock_gradient_update_s is None:
        lock_gradient_update_s = threads.lock_gradient_update_factor * n * lock_wait(threads.deposits_s2(form.hold_power), gpu_s)
    waits = {
        "lock_weights_gpu_s": threads.lock_weights_gpu_factor * for_weights_s,
        "lock_gradient_gpu_s": threads.lock_gradient_gpu_factor * lock_wait(sums, update_s),
        "lock_gradient_update_s": lock_gradient_update_s,
        "lock_weights_update_s": threads.lock_weights_update_factor * n * lock_wait(met_fetches, gpu_s),
    }
    return State(
        gpu_iteration_s=gpu_s,
        update_iteration_s=update_s,
        ready_probability=at.ready_probability,
        fetch_probability=at.fetch_probability,
        **waits,
        barrier_wait_s=at.barrier_wait_s,
        gpu_std_s=threads.gpu_work_std_s if form.jitter else np.zeros_like(gpu_s),
        residual=_residual(threads, at, waits),
        closed=np.full(gpu_s.shape, closed),
        flags=sprint_flags(threads, at),
    )


def _residual(threads: CoupledThreads, at: Periods, waits: Mapping[str, FloatArray]) -> FloatArray:
    """Larger relative difference of a period and the sum of its parts."""
    fetch_s = threads.fetch_weights_s * at.fetch_probability
    sum_s = threads.n_gpus_per_node * threads.sum_gradient_s * at.ready_probability
    gpu_s = threads.gpu_free_s + fetch_s + waits["lock_weights_gpu_s"] + waits["lock_gradient_gpu_s"]
    locks_s = waits["lock_gradient_update_s"] + waits["lock_weights_update_s"]
    update_s = threads.update_free_s + sum_s + at.barrier_wait_s + locks_s
    return np.asarray(np.maximum(np.abs(gpu_s / at.gpu_s - 1.0), np.abs(update_s / at.update_s - 1.0)))
