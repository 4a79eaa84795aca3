"""The two coupled iterations of SPRINT at a given ratio rho = T_Update / T_GPU, for one number of GPUs per node.

At a fixed rho both equations are quadratics with one positive root, so a configuration is one scalar equation in ln rho.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.systems.coupling.barrier import barrier_excess, buffer_overdispersion
from mlperf.systems.coupling.barrier_wait import FreshBuffer, barrier_wait, fresh_barrier_wait
from mlperf.systems.coupling.locks import hold_second_moment, lock_wait, overlap_second_moment
from mlperf.systems.coupling.probabilities import expected_shorter

MOST_INNER_STEPS = 60
EXACT, ROUGH = 1e-13, 1e-9
"""Relative precision of the periods: as far as rounding lets, and what tells the better of two configurations."""
LEAST_SECANT = 1e-10
"""Relative step below which a secant tells rounding errors and no slope."""
SLOPES = (-4.0, 0.8)
"""Bounds on a secant's slope: every step goes towards the fixed point and none goes far."""
LEAST_VARIATION = 0.02
LEAST_SPREAD = 1e-9
LEAST_FRESH = 1e-12


@dataclass(frozen=True, slots=True)
class CoupledThreads:
    """One GPU thread and one update thread before they meet; arrays of shape (n_configs,), seconds.

    ``gpu_free_s`` and ``update_free_s`` are a0 and b0: the iterations without locks, fetch, sums and barrier; ``gpu_work_std_s`` is
    the deviation of a0. A ``_factor`` multiplies the wait of its name. ``work_before_share`` of the update thread's own work comes
    between the barrier and the inspection of the buffers (Algorithm 2, line 18), the rest after it. The functions of this file want
    one number of GPUs per node in all configurations; the methods do not.
    """

    gpu_free_s: FloatArray
    update_free_s: FloatArray
    fetch_weights_s: FloatArray
    update_gradient_s: FloatArray
    sum_gradient_s: FloatArray
    update_weights_s: FloatArray
    gpu_work_std_s: FloatArray
    barrier_per_buffer_s: FloatArray
    n_nodes: FloatArray
    n_gpus_per_node: IntArray
    lock_weights_gpu_factor: FloatArray
    lock_gradient_gpu_factor: FloatArray
    lock_gradient_update_factor: FloatArray
    lock_weights_update_factor: FloatArray
    barrier_wait_factor: FloatArray
    fetch_weights_std_s: FloatArray
    update_gradient_std_s: FloatArray
    sum_gradient_std_s: FloatArray
    update_weights_std_s: FloatArray
    update_work_std_s: FloatArray
    work_before_share: FloatArray

    def take(self, rows: IntArray | slice) -> CoupledThreads:
        """The configurations ``rows``."""
        return CoupledThreads(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    @property
    def n(self) -> int:
        """The GPUs per node of the first configuration, and so of all."""
        return int(self.n_gpus_per_node[0])

    def fetches_s2(self, q: FloatArray, power: int) -> FloatArray:
        """E[hold**2] of a fetch, an event of probability q a GPU iteration; ``power`` as in `hold_second_moment`."""
        return hold_second_moment(self.fetch_weights_s, q, power, self.fetch_weights_std_s)

    def sums_s2(self, p: FloatArray, power: int) -> FloatArray:
        """E[hold**2] of one buffer's sum, an event of probability p an update."""
        return hold_second_moment(self.sum_gradient_s, p, power, self.sum_gradient_std_s)

    def deposits_s2(self, power: int) -> FloatArray:
        """E[hold**2] of a deposit, once a GPU iteration."""
        return hold_second_moment(self.update_gradient_s, 1.0, power, self.update_gradient_std_s)

    def overwrites_s2(self, power: int) -> FloatArray:
        """E[hold**2] of overwriting the weights, once an update."""
        return hold_second_moment(self.update_weights_s, 1.0, power, self.update_weights_std_s)

    def met_sums_s2(self, gpu_s: FloatArray, update_s: FloatArray, p: FloatArray) -> FloatArray:
        """The same as `sums_s2` for a GPU that comes back T_GPU after it left the buffer, at most T_Update before the sum."""
        return overlap_second_moment(self.sum_gradient_s, self.sum_gradient_std_s, gpu_s - update_s, self.spread_s(p))

    def met_fetches_s2(self, gpu_s: FloatArray, update_s: FloatArray, p: FloatArray) -> FloatArray:
        """The same as `fetches_s2` for the update thread, T_Update after a publication that every GPU fetches within T_GPU."""
        gap_s = update_s - self.update_weights_s - gpu_s
        return overlap_second_moment(self.fetch_weights_s, self.fetch_weights_std_s, gap_s, self.spread_s(p))

    def queue_s(self, gpu_s: FloatArray, update_s: FloatArray, p: FloatArray) -> FloatArray:
        """Fetches a GPU iteration by others that wait ahead: T_GPU less these is what a queue for the weights has to itself.

        Only with T_Update > T_GPU, where each publication gathers GPUs anew; otherwise all fetch in every iteration, one after the
        other, and stay apart.
        """
        spread_s = np.maximum(self.spread_s(p), LEAST_VARIATION * gpu_s)
        q = np.minimum(p * gpu_s / update_s, 1.0)
        return np.asarray(ndtr((update_s - gpu_s) / spread_s) * (self.n_gpus_per_node - 1) * q * self.fetch_weights_s)

    def update_std_s(self, p: FloatArray) -> FloatArray:
        """Deviation of what a node's update thread does by itself from barrier to barrier when p of its buffers are fresh."""
        of_sums = self.n_gpus_per_node * p * self.sum_gradient_std_s**2
        return np.asarray(np.sqrt(of_sums + self.update_work_std_s**2 + self.update_weights_std_s**2))

    def spread_s(self, p: FloatArray) -> FloatArray:
        """Deviation of T_GPU - T_Update when p of the buffers are fresh: both vary."""
        return np.asarray(np.hypot(self.gpu_work_std_s, self.update_std_s(p)))


@dataclass(frozen=True, slots=True)
class Periods:
    """Both iterations at a given rho; arrays of shape (n_configs,). ``gpu_s`` and ``update_s`` agree at the root only."""

    gpu_s: FloatArray
    update_s: FloatArray
    ready_probability: FloatArray
    fetch_probability: FloatArray
    barrier_wait_s: FloatArray


Barrier = Callable[[CoupledThreads, FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """One way to close the equations.

    ``hold_power``: 1 uses second moments of the holds, 2 squares of their means (the paper). ``jitter``: whether p and q know
    the deviation of T_GPU. ``phases``: whether two threads that have just met are known to meet again a period later only.
    ``barrier``: (threads, p, G, U) to seconds. ``tolerance``: relative precision of T_GPU and of the ratio.
    """

    hold_power: int
    jitter: bool
    phases: bool
    barrier: Barrier
    tolerance: float = EXACT


def periods_at(threads: CoupledThreads, form: ClosedForm, log_ratio: FloatArray) -> Periods:
    """Solve both quadratics at rho = exp(log_ratio).

    References
    ----------
    Oyama et al. (SPRINT), eqs. 7 and 8 and Tables 3 and 4; rearranged for a fixed ratio.
    """
    ratio = np.exp(log_ratio)
    p = np.minimum(ratio, 1.0)
    gpu_s = _gpu_period(threads, form, ratio, p)
    if form.jitter:
        p, gpu_s = _with_jitter(threads, form, ratio, gpu_s)
    barrier_s = threads.barrier_wait_factor * form.barrier(threads, p, gpu_s, ratio * gpu_s)
    update_s = _update_period(threads, form, ratio, p, gpu_s, barrier_s)
    return Periods(gpu_s, update_s, p, np.minimum(p / ratio, 1.0), barrier_s)


def log_mismatch(threads: CoupledThreads, form: ClosedForm, log_ratio: FloatArray) -> FloatArray:
    """ln(U/G) - ln rho: positive below the solution, negative above it."""
    at = periods_at(threads, form, log_ratio)
    return np.asarray(np.log(at.update_s / at.gpu_s) - log_ratio)


def log_ratio_guess(threads: CoupledThreads) -> FloatArray:
    """Logarithm of rho without locks and barrier, every buffer fresh as often as that ratio says."""
    gpu_s, n_sum_s = threads.gpu_free_s, threads.n * threads.sum_gradient_s
    ratio = threads.update_free_s / gpu_s
    for _ in range(4):
        p = np.minimum(ratio, 1.0)
        ratio = (threads.update_free_s + n_sum_s * p) / (gpu_s + threads.fetch_weights_s * p / ratio)
    return np.asarray(np.log(ratio))


def gpu_period_at(threads: CoupledThreads, form: ClosedForm, update_s: FloatArray) -> Periods:
    """T_GPU, p and q when T_Update is known; the barrier is left at 0."""

    def next_s(gpu_s: FloatArray) -> FloatArray:
        ratio = update_s / gpu_s
        return _gpu_period(threads, form, ratio, ready(ratio, gpu_s), gpu_s)

    def ready(ratio: FloatArray, gpu_s: FloatArray) -> FloatArray:
        return _ready(ratio, gpu_s, threads.spread_s(np.minimum(ratio, 1.0)))

    gpu_s = _settled(next_s, threads.gpu_free_s, form.tolerance)
    ratio = update_s / gpu_s
    p = ready(ratio, gpu_s)
    return Periods(gpu_s, update_s, p, np.minimum(p / ratio, 1.0), np.zeros_like(gpu_s))


def _with_jitter(threads: CoupledThreads, form: ClosedForm, ratio: FloatArray, gpu_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fixed point of p and G: p depends on the variation of G, and G on the fetches p G / U and on the phases."""
    spread_s = threads.spread_s(np.minimum(ratio, 1.0))

    def next_s(gpu_s: FloatArray) -> FloatArray:
        return _gpu_period(threads, form, ratio, _ready(ratio, gpu_s, spread_s), gpu_s)

    gpu_s = _settled(next_s, gpu_s, form.tolerance)
    return _ready(ratio, gpu_s, spread_s), gpu_s


def _ready(ratio: FloatArray, gpu_s: FloatArray, spread_s: FloatArray) -> FloatArray:
    """Probability p of a fresh buffer where both iterations vary."""
    return np.minimum(expected_shorter(gpu_s, spread_s, ratio * gpu_s) / gpu_s, 1.0)


def _settled(next_s: Callable[[FloatArray], FloatArray], start_s: FloatArray, tolerance: float) -> FloatArray:
    """The fixed point of a map that is bounded above 0, row by row, by secants."""
    at_s = start_s
    beyond_s = next_s(at_s) - at_s
    slope = np.zeros_like(at_s)
    for _ in range(MOST_INNER_STEPS):
        step_s = beyond_s / (1.0 - slope)
        at_s = at_s + step_s
        if np.all(np.abs(step_s) <= tolerance * at_s):
            break
        before_s, beyond_s = beyond_s, next_s(at_s) - at_s
        told = np.abs(step_s) > LEAST_SECANT * at_s
        secant = 1.0 + (beyond_s - before_s) / np.where(told, step_s, 1.0)
        slope = np.where(told, np.clip(secant, *SLOPES), slope)
    return at_s


def _gpu_period(
    threads: CoupledThreads, form: ClosedForm, ratio: FloatArray, p: FloatArray, last_s: FloatArray | None = None
) -> FloatArray:
    """T_GPU; ``last_s`` is the iterate before, from which phases are told."""
    q = np.minimum(p / ratio, 1.0)
    free_s = threads.gpu_free_s + threads.fetch_weights_s * q
    fetches = (threads.n - 1) * threads.fetches_s2(q, form.hold_power)
    for_weights = threads.lock_weights_gpu_factor * (fetches + threads.overwrites_s2(form.hold_power) / ratio)
    if form.phases and last_s is not None:
        at_buffer = threads.lock_gradient_gpu_factor * threads.met_sums_s2(last_s, ratio * last_s, p)
        free_s = free_s + lock_wait(at_buffer, ratio * last_s)
        # A queue of which others' fetches are c of T_GPU waits Q / (T_GPU - c): again a quadratic, with one root above both.
        queue_s = threads.queue_s(last_s, ratio * last_s, p)
        return np.asarray(_positive_root(free_s - queue_s, 0.5 * for_weights) + queue_s)
    at_buffer = threads.lock_gradient_gpu_factor * threads.sums_s2(p, form.hold_power)
    return _positive_root(free_s, 0.5 * (for_weights + at_buffer / ratio))


def _update_period(
    threads: CoupledThreads, form: ClosedForm, ratio: FloatArray, p: FloatArray, gpu_s: FloatArray, barrier_s: FloatArray
) -> FloatArray:
    n, q = threads.n, np.minimum(p / ratio, 1.0)
    free_s = threads.update_free_s + n * threads.sum_gradient_s * p + barrier_s
    fetches = threads.met_fetches_s2(gpu_s, ratio * gpu_s, p) if form.phases else threads.fetches_s2(q, form.hold_power)
    deposits = threads.lock_gradient_update_factor * threads.deposits_s2(form.hold_power)
    return _positive_root(free_s, 0.5 * n * ratio * (deposits + threads.lock_weights_update_factor * fetches))


def _positive_root(linear_s: FloatArray, constant_s2: FloatArray) -> FloatArray:
    """The positive T of T = linear + constant / T."""
    return np.asarray(0.5 * (linear_s + np.sqrt(linear_s * linear_s + 4.0 * constant_s2)))


def _binomial_barrier(threads: CoupledThreads, p: FloatArray, _gpu_s: FloatArray, _update_s: FloatArray) -> FloatArray:
    return threads.barrier_per_buffer_s * barrier_excess(threads.n, p, threads.n_nodes)


def _overdispersed_barrier(threads: CoupledThreads, p: FloatArray, gpu_s: FloatArray, _: FloatArray) -> FloatArray:
    n, excess = threads.n, np.zeros_like(p)
    # Nodes that find every buffer fresh wait for none: of a large grid that is most.
    some = np.flatnonzero(p != 1.0)
    spread = buffer_overdispersion(n, threads.sum_gradient_s[some] / gpu_s[some])
    excess[some] = barrier_excess(n, p[some], threads.n_nodes[some], spread)
    return threads.barrier_per_buffer_s * excess


def _convolved_barrier(threads: CoupledThreads, p: FloatArray, gpu_s: FloatArray, _: FloatArray) -> FloatArray:
    n, sum_s = threads.n, threads.sum_gradient_s
    spread = buffer_overdispersion(n, sum_s / gpu_s)
    deposits = (threads.update_gradient_s, gpu_s, threads.update_gradient_std_s)
    return barrier_wait(n, p, threads.n_nodes, spread, sum_s, *deposits, threads.update_std_s(p))


def _fresh_barrier(threads: CoupledThreads, p: FloatArray, gpu_s: FloatArray, update_s: FloatArray) -> FloatArray:
    """The wait for the slowest node when waits tell that a buffer is fresh and delays make more of them so.

    A delay before the inspections lets more GPUs finish: each buffer amplifies it by 1 + (S0 / G) P(G > U), the chance that its
    GPU is still at work, so that a delay before all n grows by that to the n, and one at the j-th by what follows it.
    """
    n, sum_s, least = threads.n, threads.sum_gradient_s, np.finfo(float).tiny
    spread_s = np.maximum(threads.spread_s(p), LEAST_SPREAD * gpu_s)
    gain = 1.0 + sum_s / gpu_s * ndtr((gpu_s - update_s) / spread_s)
    before, among = gain**n, np.mean([gain ** (2 * j) for j in range(n)], axis=0)
    own_s2 = (
        (threads.update_weights_std_s * before) ** 2
        + threads.update_work_std_s**2 * (1.0 + threads.work_before_share * (before**2 - 1.0))
        + n * p * threads.sum_gradient_std_s**2 * among
    )
    # A residual hold of E[h**2] / (2 E[h]) on average is that of a constant hold of E[h**2] / E[h].
    deposit_s = threads.deposits_s2(1) / np.maximum(threads.update_gradient_s, least)
    fetch_s = threads.fetches_s2(np.ones_like(p), 1) / np.maximum(threads.fetch_weights_s, least)
    fetch_met = threads.met_fetches_s2(gpu_s, update_s, p) / np.maximum(fetch_s * gpu_s, least)
    fresh = np.maximum(p, LEAST_FRESH)
    buffer = FreshBuffer(
        sum_s,
        deposit_s * np.sqrt(among),
        np.minimum(np.minimum(threads.update_gradient_s / gpu_s, 1.0) / fresh, 1.0),
        fetch_s * before,
        np.minimum(fetch_met / fresh, 1.0),
    )
    overdispersion = buffer_overdispersion(n, sum_s / gpu_s)
    return fresh_barrier_wait(n, p, threads.n_nodes, overdispersion, buffer, np.sqrt(own_s2))


CLOSED_FORMS: Mapping[str, ClosedForm] = {
    "paper": ClosedForm(hold_power=2, jitter=False, phases=False, barrier=_binomial_barrier),
    "second_moment": ClosedForm(hold_power=1, jitter=True, phases=False, barrier=_overdispersed_barrier),
    "convolution": ClosedForm(hold_power=1, jitter=True, phases=False, barrier=_convolved_barrier),
    "phases": ClosedForm(hold_power=1, jitter=True, phases=True, barrier=_fresh_barrier),
}
DEFAULT_FORM = "phases"
GRID_FORM = "second_moment"
"""Nearly as good at a hundredth of the time: of many configurations it tells which are worth the default."""
