"""The fixed point of SPRINT: T_GPU and T_Update of whole grids of configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown
from mlperf.systems.flags import sprint_flags
from mlperf.systems.iterations import CLOSED_FORMS, ClosedForm, CoupledThreads, Periods, log_mismatch, log_ratio_guess, periods_at
from mlperf.systems.locks import hold_second_moment, lock_wait
from mlperf.systems.roots import decreasing_root
from mlperf.systems.times import ComponentTimes, RunGrid

CHUNK = 4096
SCAN_POINTS = 33
SCAN_REACH = {"paper": 14.0, "second_moment": 14.0, "convolution": 7.0}


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

    @property
    def ratio(self) -> FloatArray:
        """T_Update / T_GPU, rho of the equations."""
        return np.asarray(self.update_iteration_s / self.gpu_iteration_s)


def solve_iterations(times: ComponentTimes, run: RunGrid, closed: str = "convolution", *, check_unique: bool = False) -> State:
    """Solve the coupled iterations of every configuration.

    Parameters
    ----------
    times : ComponentTimes
    run : RunGrid
        Broadcasts with ``times``; a leading axis of ``times`` (perturbations, draws) is allowed.
    closed : {"convolution", "second_moment", "paper"}
        ``paper``: min() probabilities, squared mean holds, binomial barrier (reproduces the publication).
        ``second_moment``: jitter-aware probabilities, second moments, overdispersed barrier. ``convolution``: as before,
        and the barrier counts lock waits.
    check_unique : bool
        Scan 33 ratios for further roots and flag configurations that have them.

    Returns
    -------
    State

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
    shape = _shape(times, run)
    threads = {name: np.broadcast_to(value, shape).ravel() for name, value in _thread_fields(times, run).items()}
    gpus = np.broadcast_to(run.n_gpus_per_node, shape).ravel()
    _check_own_work(threads)
    solved, n_roots = _solve_all(threads, gpus, closed, check_unique)
    flat = _state(threads, gpus, solved, closed, n_roots if check_unique else None)
    return _reshaped(flat, shape)


def _shape(times: ComponentTimes, run: RunGrid) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(times.shape, run.shape)
    except ValueError as error:
        shapes = f"times of shape {times.shape} and a run grid of shape {run.shape}"
        raise UsageError(f"got {shapes}, expected shapes that broadcast") from error


def _thread_fields(times: ComponentTimes, run: RunGrid) -> dict[str, FloatArray]:
    per_buffer = times.sum_gradient_s if times.barrier_per_buffer_s is None else times.barrier_per_buffer_s
    return {
        "gpu_free_s": times.gpu_work_s + times.update_gradient_s,
        "update_free_s": times.update_work_s + times.update_weights_s,
        "fetch_weights_s": times.fetch_weights_s,
        "update_gradient_s": times.update_gradient_s,
        "sum_gradient_s": times.sum_gradient_s,
        "update_weights_s": times.update_weights_s,
        "gpu_work_std_s": times.gpu_work_std_s,
        "barrier_per_buffer_s": per_buffer,
        "n_nodes": run.n_nodes.astype(np.float64),
    }


def _check_own_work(threads: Mapping[str, FloatArray]) -> None:
    for name, thread in (("gpu_free_s", "GPU thread"), ("update_free_s", "update thread")):
        if (threads[name] <= 0.0).any():
            hint = "Give at least one of its components a time."
            raise DataError(f"got a {thread} without work of its own, expected > 0 s outside locks", hint=hint)


def _solve_all(threads: Mapping[str, FloatArray], gpus: IntArray, closed: str, check_unique: bool) -> tuple[Periods, IntArray]:
    """Group by GPUs per node (sums over buffers have that many terms) and solve in chunks that fit a cache."""
    form = CLOSED_FORMS[closed]
    solved = Periods(*(np.empty(gpus.size) for _ in range(5)))
    n_roots = np.ones(gpus.size, dtype=np.int64)
    for n in np.unique(gpus):
        rows = np.flatnonzero(gpus == n)
        for start in range(0, rows.size, CHUNK):
            part = rows[start : start + CHUNK]
            coupled = CoupledThreads(**{name: value[part] for name, value in threads.items()}, n_gpus_per_node=int(n))
            _store(solved, part, _solve_chunk(coupled, form))
            if check_unique:
                n_roots[part] = _count_roots(coupled, form, SCAN_REACH[closed])
    return solved, n_roots


def _solve_chunk(threads: CoupledThreads, form: ClosedForm) -> Periods:
    n_configs = threads.n_nodes.size

    def mismatch(log_ratio: FloatArray, rows: IntArray) -> FloatArray:
        return log_mismatch(threads if rows.size == n_configs else threads.take(rows), form, log_ratio)

    return periods_at(threads, form, decreasing_root(mismatch, log_ratio_guess(threads)))


def _count_roots(threads: CoupledThreads, form: ClosedForm, reach: float) -> IntArray:
    scan = np.linspace(-reach, reach, SCAN_POINTS)
    above = np.stack([log_mismatch(threads, form, np.full(threads.n_nodes.size, x)) > 0.0 for x in scan])
    return np.asarray(np.count_nonzero(above[1:] != above[:-1], axis=0), dtype=np.int64)


def _store(into: Periods, rows: IntArray, part: Periods) -> None:
    for name in Periods.__slots__:
        getattr(into, name)[rows] = getattr(part, name)


def _state(threads: Mapping[str, FloatArray], gpus: IntArray, at: Periods, closed: str, n_roots: IntArray | None) -> State:
    """Lock waits at the solution, flags and residual."""
    power, gpu_s = CLOSED_FORMS[closed].hold_power, at.gpu_s
    fetches = hold_second_moment(threads["fetch_weights_s"], at.fetch_probability, power)
    sums = hold_second_moment(threads["sum_gradient_s"], at.ready_probability, power)
    lock_weights_gpu_s = lock_wait(threads["update_weights_s"] ** 2, at.update_s) + (gpus - 1) * lock_wait(fetches, gpu_s)
    lock_gradient_gpu_s = lock_wait(sums, at.update_s)
    lock_gradient_update_s = gpus * lock_wait(threads["update_gradient_s"] ** 2, gpu_s)
    lock_weights_update_s = gpus * lock_wait(fetches, gpu_s)
    fetch_s, sum_s = threads["fetch_weights_s"] * at.fetch_probability, gpus * threads["sum_gradient_s"] * at.ready_probability
    gpu_again_s = threads["gpu_free_s"] + fetch_s + lock_weights_gpu_s + lock_gradient_gpu_s
    update_again_s = threads["update_free_s"] + sum_s + at.barrier_wait_s + lock_gradient_update_s + lock_weights_update_s
    residual = np.maximum(np.abs(gpu_again_s / gpu_s - 1.0), np.abs(update_again_s / at.update_s - 1.0))
    flags = sprint_flags(threads, gpus, at)
    if n_roots is not None:
        flags["several_roots"] = n_roots != 1
    return State(
        gpu_iteration_s=gpu_s,
        update_iteration_s=at.update_s,
        ready_probability=at.ready_probability,
        fetch_probability=at.fetch_probability,
        lock_weights_gpu_s=lock_weights_gpu_s,
        lock_gradient_gpu_s=lock_gradient_gpu_s,
        lock_gradient_update_s=lock_gradient_update_s,
        lock_weights_update_s=lock_weights_update_s,
        barrier_wait_s=at.barrier_wait_s,
        gpu_std_s=threads["gpu_work_std_s"] if CLOSED_FORMS[closed].jitter else np.zeros_like(gpu_s),
        residual=residual,
        closed=np.full(gpu_s.shape, closed),
        flags=flags,
    )


def _reshaped(flat: State, shape: tuple[int, ...]) -> State:
    arrays = {name: getattr(flat, name).reshape(shape) for name in State.__slots__ if name != "flags"}
    return State(**arrays, flags={name: flag.reshape(shape) for name, flag in flat.flags.items()})
