"""Spread and distribution of the mini-batch size of one update."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.base.distributions import Distribution, power_of_pmf
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.coupling.barrier import beta_binomial_cdf, buffer_overdispersion
from mlperf.systems.coupling.probabilities import gradient_count_tail, gradient_count_terms
from mlperf.systems.sprint.equations import State

SECOND_GRADIENT_SHARE = 0.01
NORMAL_REACH = 6.0
MOST_GRADIENTS = 100_000
"""Gradients of one GPU in one update; more are no training, but a network whose figures are in other units."""


def gradient_count_variance(state: State) -> FloatArray:
    """Variance of the number of gradients that one GPU adds to one update; the shape of the state."""
    tail = _tail(state)
    j = np.arange(1, tail.shape[0] + 1, dtype=np.float64).reshape(-1, *([1] * state.gpu_iteration_s.ndim))
    mean, square = tail.sum(axis=0), ((2.0 * j - 1.0) * tail).sum(axis=0)
    return np.asarray(np.maximum(square - mean**2, 0.0))


def minibatch_std(times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
    """Standard deviation of the mini-batch size, samples; the shape of the state.

    b sqrt(M [n Var K + max(0, Var X - n p (1-p))] + (M n / G)**2 Var U): gradients of a GPU spread by renewal (K), buffers of a
    node by the delay that fresh buffers cause to later inspections (X), and longer updates (U) collect more of all.
    """
    n, p = run.n_gpus_per_node, state.ready_probability
    binomial = n * p * (1.0 - p)
    extra = binomial * (_overdispersion(times, state, run) - 1.0)
    of_node = n * gradient_count_variance(state) + np.maximum(extra, 0.0)
    return np.asarray(run.subbatch_size * np.hypot(np.sqrt(run.n_nodes * of_node), _window_std(times, state, run)))


def minibatch_distribution(times: ComponentTimes, state: State, run: RunGrid, index: int = 0) -> Distribution:
    """Distribution of the mini-batch size of configuration ``index`` (into the flattened state), samples.

    Per node the number of fresh buffers (beta-binomial) and the rare second gradients (binomial) when those have a probability
    below 0.01, else the gradients of n independent GPUs; then the sum over nodes.
    """
    shape = state.gpu_iteration_s.shape
    counts = (run.n_gpus_per_node, run.n_nodes, run.subbatch_size)
    n, n_nodes, subbatch = (int(np.broadcast_to(value, shape).flat[index]) for value in counts)
    tail = _tail(state).reshape(-1, state.gpu_iteration_s.size)[:, index]
    if tail[1] < SECOND_GRADIENT_SHARE:
        spread = np.broadcast_to(_overdispersion(times, state, run), shape).flat[index]
        fresh = _buffer_pmf(n, float(state.ready_probability.flat[index]), float(spread))
        of_node = np.convolve(fresh, power_of_pmf(np.array([1.0 - tail[1], tail[1]]), n))
    else:
        of_node = power_of_pmf(_count_pmf(tail), n)
    pmf = _broadened(power_of_pmf(of_node, n_nodes), float(np.broadcast_to(_window_std(times, state, run), shape).flat[index]))
    return Distribution(subbatch * np.arange(pmf.size, dtype=np.float64), pmf)


def _tail(state: State) -> FloatArray:
    variation = float(np.max(state.gpu_std_s / state.gpu_iteration_s))
    n_terms = gradient_count_terms(float(np.max(state.ratio)), variation)
    if n_terms > MOST_GRADIENTS:
        longest = int(np.argmax(state.ratio))
        update_s, gpu_s = (float(each.flat[longest]) for each in (state.update_iteration_s, state.gpu_iteration_s))
        raise DataError(
            f"got an update of {update_s:.3g} s beside GPU iterations of {gpu_s:.3g} s, expected at most {MOST_GRADIENTS:,} in one",
            hint="Look at the network's figures: latency_s in seconds, bandwidth_bytes_per_s in bytes a second (25 GB/s is 25e9).",
        )
    return gradient_count_tail(state.gpu_iteration_s, state.gpu_std_s, state.update_iteration_s, max(n_terms, 2))


def _overdispersion(times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
    shape = state.gpu_iteration_s.shape
    delay = np.broadcast_to(times.sum_gradient_s, shape) / state.gpu_iteration_s
    gpus = np.broadcast_to(run.n_gpus_per_node, shape)
    spread = np.ones(shape)
    for n in np.unique(gpus):
        spread[gpus == n] = buffer_overdispersion(int(n), delay[gpus == n])
    return spread


def _window_std(times: ComponentTimes, state: State, run: RunGrid) -> FloatArray:
    """Deviation, in gradients of all GPUs, that the variation of the update thread's own work causes."""
    of_sums = run.n_gpus_per_node * state.ready_probability * times.spread_s("sum_gradient") ** 2
    update_std_s = np.sqrt(of_sums + times.spread_s("update_work") ** 2 + times.spread_s("update_weights") ** 2)
    return np.asarray(run.n_gpus / state.gpu_iteration_s * update_std_s)


def _broadened(pmf: FloatArray, std: float) -> FloatArray:
    """The distribution of a count plus a rounded normal variable; what would be below 0 is 0."""
    if std == 0.0:
        return pmf
    reach = math.ceil(NORMAL_REACH * std) + 1
    edges = np.arange(-reach, reach + 2) - 0.5
    summed = np.convolve(pmf, np.diff(ndtr(edges / std)))
    summed[reach] += summed[:reach].sum()
    return np.asarray(summed[reach:] / summed[reach:].sum())


def _buffer_pmf(n: int, p: float, overdispersion: float) -> FloatArray:
    cdf = [float(np.minimum(level, 1.0)) for level in beta_binomial_cdf(n, np.asarray(p), np.asarray(overdispersion))]
    return np.maximum(np.diff(np.array([0.0, *cdf, 1.0])), 0.0)


def _count_pmf(tail: FloatArray) -> FloatArray:
    reach = np.minimum.accumulate(np.concatenate(([1.0], tail, [0.0])))
    return np.asarray(-np.diff(reach))
