"""How many updates lie between the weights a gradient was computed from and the weights it is applied to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.coupling.probabilities import expected_excess
from mlperf.systems.sprint.equations import State

UNIFORM_STD = 1.0
REACH = 8.5
MOST_UPDATES = 10_000_000
"""Updates in one GPU iteration; more are no training, but a sub-batch or a time that nobody meant."""


@dataclass(frozen=True, slots=True)
class _Ages:
    """In units of T_Update: mean age y of a gradient when its buffer is read, its deviation s, the share a of UpdateWeights."""

    y: FloatArray
    s: FloatArray
    a: FloatArray


def mean_staleness(times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
    """Mean staleness in updates, the shape of the state.

    E tau = 1 + E y - E min(a, frac y), the mean over the n threads of a node; y is the age of a gradient when it is read, a the
    share of the update in which the weights are being overwritten (a request then waits and gets the new version).
    """
    shape = state.gpu_iteration_s.shape
    gpus = np.broadcast_to(run.n_gpus_per_node, shape)
    mean = np.zeros(shape)
    for thread in range(int(gpus.max())):
        has = thread < gpus
        ages = _ages(times, state, run, thread)
        ages = _Ages(ages.y[has], ages.s[has], ages.a[has])
        mean[has] += (1.0 + ages.y - _mean_overwritten_part(ages)) / gpus[has]
    return mean


def staleness_distribution(times: ComponentTimes, state: State, run: RunGrid, index: int = 0) -> Distribution:
    """Distribution of the staleness of configuration ``index`` (into the flattened state), updates.

    P(tau <= j) = mean_t [h(j - y) - h(j - 1 + a - y) + a Phi((j - y) / s)], h(z) = E max(z + s Z, 0).
    """
    shape = state.gpu_iteration_s.shape
    n = int(np.broadcast_to(run.n_gpus_per_node, shape).flat[index])
    by_thread = [_ages(times, state, run, thread) for thread in range(n)]
    y, s, a = (np.array([getattr(ages, name).flat[index] for ages in by_thread]) for name in ("y", "s", "a"))
    oldest = float(np.max(y + REACH * s))
    if oldest > MOST_UPDATES:
        gpu_s, update_s = (float(each.flat[index]) for each in (state.gpu_iteration_s, state.update_iteration_s))
        raise DataError(
            f"got GPU iterations of {gpu_s:.3g} s beside an update of {update_s:.3g} s, expected {MOST_UPDATES:,} at most",
            hint="Look at the sub-batch (--subbatch) and at the component times, which are in seconds.",
        )
    j = np.arange(int(np.ceil(oldest)) + 2, dtype=np.float64)
    # Differences of large numbers: over a million updates their rounding would add up, were every step down left out by itself.
    cdf = np.maximum.accumulate(np.mean(_cdf(j[:, None], y, s, a), axis=1))
    cdf[-1] = 1.0
    return Distribution(j, np.diff(cdf, prepend=0.0))


def _cdf(j: FloatArray, y: FloatArray, s: FloatArray, a: FloatArray) -> FloatArray:
    safe = np.where(s > 0.0, s, 1.0)
    inside = np.where(s > 0.0, ndtr((j - y) / safe), j >= y)
    return np.clip(expected_excess(j - y, s) - expected_excess(j - 1.0 + a - y, s) + a * inside, 0.0, 1.0)


def _ages(times: ComponentTimes, state: State, run: RunGrid, thread: int) -> _Ages:
    update_s, shape = state.update_iteration_s, state.gpu_iteration_s.shape
    delay_s = state.gpu_iteration_s - state.lock_weights_gpu_s - times.update_gradient_s
    lock_s = state.lock_gradient_update_s * (thread + 0.5) / run.n_gpus_per_node
    offset_s = times.sum_gradient_s * state.ready_probability * thread + lock_s
    parts = (delay_s - offset_s) / update_s, state.gpu_std_s / update_s, times.update_weights_s / update_s
    return _Ages(*(np.broadcast_to(part, shape) for part in parts))


def _mean_overwritten_part(ages: _Ages) -> FloatArray:
    """E min(a, frac y) of a normal y; y modulo 1 is uniform to 1e-8 when its deviation exceeds 1."""
    part = ages.a - 0.5 * ages.a**2
    normal = ages.s <= UNIFORM_STD
    y, s, a = ages.y[normal], ages.s[normal], ages.a[normal]
    past, reach = y - np.floor(y), np.ceil(REACH * s) + 1.0
    in_part = np.zeros_like(y)
    for step in range(-int(reach.max(initial=0.0)), int(reach.max(initial=0.0)) + 1):
        rows = np.flatnonzero(reach >= abs(step))
        z, s_of, a_of = past[rows] - step, s[rows], a[rows]
        in_part[rows] += expected_excess(z, s_of) - expected_excess(z - a_of, s_of) - a_of * _beyond(z - 1.0, s_of)
    part[normal] = in_part
    return part


def _beyond(z: FloatArray, s: FloatArray) -> FloatArray:
    """P(z + s Z >= 0)."""
    safe = np.where(s > 0.0, s, 1.0)
    return np.asarray(np.where(s > 0.0, ndtr(z / safe), z >= 0.0))
