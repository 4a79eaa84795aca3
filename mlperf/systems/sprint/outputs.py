"""Epoch time, mean mini-batch size and both breakdowns (SPRINT eqs. 9 and 10, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State
from mlperf.systems.sprint.staleness import mean_staleness

OUTPUTS = ("gpu_iteration_s", "update_iteration_s", "epoch_s", "mean_minibatch_size")
"""What a prediction is asked for: T_GPU, T_Update, T_Epoch and N_Minibatch_avg."""


@dataclass(frozen=True, slots=True, eq=False)
class EpochOutputs(Shown):
    """What a run does; arrays of the broadcast shape of times and run.

    Parameters
    ----------
    epoch_s : array
        Seconds for ``dataset_size`` samples.
    mean_minibatch_size : array
        Samples per update.
    mean_staleness : array
        Updates between the weights a gradient was computed from and the weights it was applied to.
    gpu_breakdown_s : mapping of str to array
        The eight components of one GPU iteration; they sum to T_GPU.
    update_breakdown_s : mapping of str to array
        The eight components of one update; they sum to T_Update. ``allreduce`` is barrier plus payload.
    """

    epoch_s: FloatArray
    mean_minibatch_size: FloatArray
    mean_staleness: FloatArray
    gpu_breakdown_s: Mapping[str, FloatArray]
    update_breakdown_s: Mapping[str, FloatArray]


def epoch_outputs(times: ComponentTimes, state: State, run: RunGrid) -> EpochOutputs:
    """All outputs of solved iterations."""
    return EpochOutputs(
        epoch_s=epoch_time(state.gpu_iteration_s, run),
        mean_minibatch_size=mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run),
        mean_staleness=mean_staleness(times, state, run),
        gpu_breakdown_s=gpu_breakdown(times, state),
        update_breakdown_s=update_breakdown(times, state, run),
    )


def epoch_time(gpu_iteration_s: FloatArray, run: RunGrid) -> FloatArray:
    """Seconds of one epoch, N_File G / (M n b).

    References
    ----------
    Oyama et al. (SPRINT), eq. 10. Samples per second are conserved, so it holds for any distribution of the periods.
    """
    return np.asarray(run.dataset_size * gpu_iteration_s / run.samples_per_iteration)


def mean_minibatch_size(gpu_iteration_s: FloatArray, update_iteration_s: FloatArray, run: RunGrid) -> FloatArray:
    """Mean samples per update, M n b U / G.

    References
    ----------
    Oyama et al. (SPRINT), eq. 9. No gradient is lost, so it holds for any distribution; above M n b when U > G.
    """
    return np.asarray(run.samples_per_iteration * update_iteration_s / gpu_iteration_s)


def gpu_breakdown(times: ComponentTimes, state: State) -> dict[str, FloatArray]:
    """Mean seconds of each component in one GPU iteration (Table 3)."""
    parts = {
        "lock_weights_gpu": state.lock_weights_gpu_s,
        "fetch_weights": state.fetch_probability * times.fetch_weights_s,
        "load_image": times.load_image_s,
        "deform_image": times.deform_image_s,
        "compute_gradient": times.compute_gradient_s,
        "compute_update_value": times.compute_update_value_s,
        "lock_gradient_gpu": state.lock_gradient_gpu_s,
        "update_gradient": times.update_gradient_s,
    }
    return _same_shape(parts, state)


def update_breakdown(times: ComponentTimes, state: State, run: RunGrid) -> dict[str, FloatArray]:
    """Mean seconds of each component in one update (Table 4)."""
    parts = {
        "lock_gradient_update": state.lock_gradient_update_s,
        "sum_gradient": run.n_gpus_per_node * state.ready_probability * times.sum_gradient_s,
        "update_old_weights": times.update_old_weights_s,
        "add_momentum": times.add_momentum_s,
        "allreduce": state.barrier_wait_s + times.allreduce_s,
        "update_momentum": times.update_momentum_s,
        "lock_weights_update": state.lock_weights_update_s,
        "update_weights": times.update_weights_s,
    }
    return _same_shape(parts, state)


def _same_shape(parts: Mapping[str, FloatArray], state: State) -> dict[str, FloatArray]:
    shape = state.gpu_iteration_s.shape
    return {name: np.array(np.broadcast_to(part, shape)) for name, part in parts.items()}
