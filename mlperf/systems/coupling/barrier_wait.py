"""The wait at the all-reduce when nodes differ in buffers added, in waits for gradient locks, and in how long their work takes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.systems.coupling.barrier import beta_binomial_cdf

ComplexArray: TypeAlias = NDArray[np.complex128]

N_POINTS = 1024
N_SUPPORT = 512
NORMAL_REACH = 5.0
WAITS_REACH = 7.0
SQRT_2_PI = math.sqrt(2.0 * math.pi)


def barrier_wait(
    n: int,
    p: FloatArray,
    n_nodes: FloatArray,
    overdispersion: FloatArray,
    sum_gradient_s: FloatArray,
    update_gradient_s: FloatArray,
    gpu_iteration_s: FloatArray,
    update_gradient_std_s: FloatArray | float = 0.0,
    own_std_s: FloatArray | float = 0.0,
) -> FloatArray:
    """E(max over nodes) - mean of the time that a node takes from one barrier to the next.

    A node needs ``sum_gradient_s`` for each of its X fresh buffers (X beta-binomial) and waits n times for a lock: 0 with
    probability 1 - UG/G, else uniform; its own work varies normally. The distribution of the sum is a product of discrete Fourier
    transforms on a grid of at most 512 steps.

    Parameters
    ----------
    n : int
        GPUs (gradient buffers) of a node.
    p, n_nodes, overdispersion : array, shape (n_configs,)
        As in :func:`mlperf.systems.coupling.barrier.barrier_excess`.
    sum_gradient_s, update_gradient_s, gpu_iteration_s : array, shape (n_configs,)
        S0, UG and G, seconds.
    update_gradient_std_s : array, optional
        Deviation of UG from deposit to deposit: a lock is more often met in a long hold.
    own_std_s : array, optional
        Deviation of what the update thread does by itself from barrier to barrier, given X.

    Returns
    -------
    array, shape (n_configs,)
        Seconds, >= 0; 0 for one node. Without lock waits and variation it is ``sum_gradient_s * barrier_excess(...)``.
    """
    args = (p, n_nodes, overdispersion, sum_gradient_s, update_gradient_s, gpu_iteration_s, update_gradient_std_s, own_std_s)
    p, n_nodes, overdispersion, sum_s, deposit_s, gpu_s, deposit_std_s, own_std_s = np.broadcast_arrays(
        *(np.asarray(arg, dtype=np.float64) for arg in args)
    )
    wait = np.zeros(p.shape)
    live = (n_nodes > 1) & (sum_s + deposit_s + own_std_s > 0.0)
    if live.any():
        # A residual hold of E[UG**2] / (2 E[UG]) on average is that of a constant hold of E[UG**2] / E[UG].
        met_s = deposit_s[live] + deposit_std_s[live] ** 2 / np.where(deposit_s[live] > 0.0, deposit_s[live], 1.0)
        busy = np.minimum(deposit_s[live] / gpu_s[live], 1.0)
        wait[live] = _live_wait(n, p[live], n_nodes[live], overdispersion[live], sum_s[live], met_s, busy, own_std_s[live])
    return wait


@dataclass(frozen=True, slots=True)
class FreshBuffer:
    """What an update thread spends on one fresh buffer; arrays of shape (n_configs,), seconds.

    ``sum_s`` to add it. Its GPU may still be leaving the gradient, or the next one may already fetch the weights: with probability
    ``deposit_met`` and ``fetch_met`` the thread waits, then uniformly up to ``deposit_s`` and ``fetch_s``.
    """

    sum_s: FloatArray
    deposit_s: FloatArray
    deposit_met: FloatArray
    fetch_s: FloatArray
    fetch_met: FloatArray

    def take(self, rows: BoolArray) -> FreshBuffer:
        """The configurations ``rows``."""
        return FreshBuffer(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def mean_wait_s(self) -> FloatArray:
        """Mean of both waits."""
        return np.asarray(0.5 * (self.deposit_met * self.deposit_s + self.fetch_met * self.fetch_s))

    @property
    def square_wait_s2(self) -> FloatArray:
        """Sum of the second moments of both waits."""
        return np.asarray((self.deposit_met * self.deposit_s**2 + self.fetch_met * self.fetch_s**2) / 3.0)


def fresh_barrier_wait(
    n: int, p: FloatArray, n_nodes: FloatArray, overdispersion: FloatArray, buffer: FreshBuffer, own_std_s: FloatArray
) -> FloatArray:
    """E(max over nodes) - mean of the time from one barrier to the next where a wait for a buffer tells that it is fresh.

    The update thread waits for the lock of a buffer only because its GPU is leaving a gradient there, so that this buffer is
    fresh: sums and waits come together, X times both, and not independently of one another as in `barrier_wait`.

    Parameters
    ----------
    n : int
        GPUs (gradient buffers) of a node.
    p, n_nodes, overdispersion : array, shape (n_configs,)
        As in `mlperf.systems.coupling.barrier.barrier_excess`.
    buffer : FreshBuffer
        Probabilities are those of a fresh buffer.
    own_std_s : array, shape (n_configs,)
        Deviation of what the update thread does by itself from barrier to barrier, given X.

    Returns
    -------
    array, shape (n_configs,)
        Seconds, >= 0; 0 for one node.
    """
    wait = np.zeros(p.shape)
    live = (n_nodes > 1) & (buffer.sum_s + buffer.deposit_s + buffer.fetch_s + own_std_s > 0.0)
    if live.any():
        parts = (p[live], n_nodes[live], overdispersion[live], buffer.take(live), own_std_s[live])
        wait[live] = _live_fresh_wait(n, *parts)
    return wait


def _live_fresh_wait(
    n: int, p: FloatArray, n_nodes: FloatArray, overdispersion: FloatArray, buffer: FreshBuffer, own_std_s: FloatArray
) -> FloatArray:
    # Many waits are seldom long together: the grid ends some deviations above their mean.
    longest_s = buffer.deposit_s + buffer.fetch_s
    likely_s = n * p * buffer.mean_wait_s + WAITS_REACH * np.sqrt(n * p * buffer.square_wait_s2) + longest_s
    reach_s = n * buffer.sum_s + np.minimum(n * longest_s, likely_s) + 2.0 * NORMAL_REACH * own_std_s
    step_s = _step(reach_s, buffer.sum_s)
    sums = buffer.sum_s / step_s
    each = np.fft.rfft(_lock_wait_masses(buffer.deposit_met, buffer.deposit_s / step_s, N_SUPPORT, sums), N_POINTS)
    each *= np.fft.rfft(_lock_wait_masses(buffer.fetch_met, buffer.fetch_s / step_s, N_SUPPORT), N_POINTS)
    spectrum = _compound(each, n, p, overdispersion)
    if own_std_s.any():
        spectrum = spectrum * np.fft.rfft(_normal_masses(own_std_s / step_s), N_POINTS)
    mean_s = n * p * (buffer.sum_s + buffer.mean_wait_s) + NORMAL_REACH * own_std_s
    return _slowest_excess(spectrum, step_s, n_nodes, mean_s)


def _compound(each: ComplexArray, n: int, p: FloatArray, overdispersion: FloatArray) -> ComplexArray:
    """Spectrum of a sum of X terms: the generating function of X at the spectrum of one."""
    levels = [np.zeros_like(p), *(np.minimum(level, 1.0) for level in beta_binomial_cdf(n, p, overdispersion)), np.ones_like(p)]
    total = np.zeros_like(each)
    for i in range(n, -1, -1):
        total *= each
        total += (levels[i + 1] - levels[i])[:, None]
    return total


def _slowest_excess(spectrum: ComplexArray, step_s: FloatArray, n_nodes: FloatArray, mean_s: FloatArray) -> FloatArray:
    """E(max over nodes) - mean of a time that was laid on the grid."""
    cdf = np.clip(np.cumsum(np.fft.irfft(spectrum, N_POINTS), axis=-1), 0.0, 1.0)
    slowest_s = step_s * np.sum(1.0 - np.power(cdf, n_nodes[:, None]), axis=-1)
    return np.asarray(np.maximum(slowest_s - mean_s, 0.0))


def _live_wait(
    n: int,
    p: FloatArray,
    n_nodes: FloatArray,
    overdispersion: FloatArray,
    sum_s: FloatArray,
    met_s: FloatArray,
    busy: FloatArray,
    own_std_s: FloatArray,
) -> FloatArray:
    step_s = _step(n * (sum_s + met_s) + 2.0 * NORMAL_REACH * own_std_s, sum_s)
    spectrum = np.fft.rfft(_lock_wait_masses(busy, met_s / step_s, N_SUPPORT // n + 2), N_POINTS)
    spectrum = _power(spectrum, n) * np.fft.rfft(_buffer_masses(n, p, overdispersion, sum_s / step_s), N_POINTS)
    if own_std_s.any():
        spectrum = spectrum * np.fft.rfft(_normal_masses(own_std_s / step_s), N_POINTS)
    mean_s = n * (sum_s * p + busy * met_s / 2.0) + NORMAL_REACH * own_std_s
    return _slowest_excess(spectrum, step_s, n_nodes, mean_s)


def _step(reach_s: FloatArray, sum_s: FloatArray) -> FloatArray:
    """At least a 512th of the reach, S0 a whole number of steps: splitting its atoms would make derivatives wrong."""
    step_s = reach_s / N_SUPPORT
    whole = np.floor(sum_s / step_s)
    return np.asarray(np.where(whole >= 1.0, sum_s / np.maximum(whole, 1.0), step_s))


def _normal_masses(std: FloatArray) -> FloatArray:
    """A normal variable, its mean `NORMAL_REACH` deviations above 0, on the grid through hat functions, which keep the mean."""
    nodes = np.arange(-1.0, N_SUPPORT + 3.0)
    safe = np.where(std > 0.0, std, 1.0)[:, None]
    distance = nodes - NORMAL_REACH * std[:, None]
    scaled = distance / safe
    # E max(node - x, 0): its second difference is the expectation of a hat.
    below = np.where(
        std[:, None] > 0.0, distance * ndtr(scaled) + safe * np.exp(-0.5 * scaled**2) / SQRT_2_PI, np.maximum(distance, 0.0)
    )
    masses = np.diff(below, 2, axis=-1)
    masses[:, 0] += below[:, 0]
    return np.asarray(masses)


def _lock_wait_masses(busy: FloatArray, width: FloatArray, n_points: int, start: FloatArray | None = None) -> FloatArray:
    """One lock wait on the grid: an atom at ``start`` (0) and a uniform density on the ``width`` steps after it, through hats."""
    nodes = np.arange(n_points, dtype=np.float64)
    if start is not None:
        nodes = nodes - start[:, None]
    safe = np.where(width > 0.0, width, 1.0)[:, None]
    masses = (busy[:, None] / safe) * (_hat_cdf(safe - nodes) - _hat_cdf(-nodes))
    masses += (1.0 - busy)[:, None] * np.maximum(1.0 - np.abs(nodes), 0.0)
    return np.asarray(masses)


def _hat_cdf(x: FloatArray) -> FloatArray:
    """Integral of the hat function on (-1, 1) from the left to x."""
    inside = np.clip(x, -1.0, 1.0)
    return np.asarray(0.5 + inside - 0.5 * inside * np.abs(inside))


def _buffer_masses(n: int, p: FloatArray, overdispersion: FloatArray, spacing: FloatArray) -> FloatArray:
    """X buffers at X * spacing grid steps; every atom is split linearly between its neighbours, which keeps the mean."""
    levels = [np.zeros_like(p), *(np.minimum(level, 1.0) for level in beta_binomial_cdf(n, p, overdispersion)), np.ones_like(p)]
    masses = np.zeros((p.size, N_SUPPORT + 2))
    rows = np.arange(p.size)
    for i in range(n + 1):
        place = i * spacing
        node = np.floor(place).astype(np.int64)
        share = place - node
        mass = levels[i + 1] - levels[i]
        masses[rows, node] += mass * (1.0 - share)
        masses[rows, node + 1] += mass * share
    return masses


def _power(base: ComplexArray, exponent: int) -> ComplexArray:
    """Integer power by repeated squaring; ``base ** n`` of complex arrays goes through logarithms."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result
