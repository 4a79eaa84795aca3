"""What one device must hold: parameters, gradients, optimizer state, activations, buffers (ZeRO, pipelines, recomputation)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.systems.coupling.schedules import GPIPE, INTERLEAVED, SCHEDULES

MIXED_PRECISION = {"bytes_per_param": 2.0, "bytes_per_gradient": 2.0, "state_bytes_per_param": 12.0}
"""16-bit parameters and gradients; Adam's 32-bit copy, mean and variance (ZeRO, section 3.1)."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceMemory(Shown):
    """Bytes of one device, the fullest of its pipeline; arrays of shape (n_configs,).

    Attributes
    ----------
    parameters_bytes, gradients_bytes, state_bytes : array
        The device's share; with ZeRO stage 3 also two layers gathered whole.
    activations_bytes : array
        Kept for backward passes, of all micro-batches in flight.
    buffers_bytes : array
        What else was said: exchange buckets, libraries, fragments.
    """

    parameters_bytes: FloatArray
    gradients_bytes: FloatArray
    state_bytes: FloatArray
    activations_bytes: FloatArray
    buffers_bytes: FloatArray

    @property
    def model_bytes(self) -> FloatArray:
        """Parameters, gradients and optimizer state."""
        return np.asarray(self.parameters_bytes + self.gradients_bytes + self.state_bytes)

    @property
    def total_bytes(self) -> FloatArray:
        """All together."""
        return np.asarray(self.model_bytes + self.activations_bytes + self.buffers_bytes)


@dataclass(frozen=True, slots=True, eq=False)
class ModelStates(Shown):
    """Bytes of a device's parameters, gradients and optimizer state."""

    parameters_bytes: FloatArray
    gradients_bytes: FloatArray
    state_bytes: FloatArray


def model_states(
    n_params: FloatArray,
    replicas: FloatArray,
    zero_stage: FloatArray,
    bytes_per_param: FloatArray | float = MIXED_PRECISION["bytes_per_param"],
    bytes_per_gradient: FloatArray | float = MIXED_PRECISION["bytes_per_gradient"],
    state_bytes_per_param: FloatArray | float = MIXED_PRECISION["state_bytes_per_param"],
) -> ModelStates:
    """Parameters, gradients and optimizer state of a device among ``replicas`` data-parallel ones.

    Parameters
    ----------
    n_params : array
        Parameters of one replica's device (its stage and tensor part).
    replicas : array
        N_d, over which ZeRO shards.
    zero_stage : array
        0: everything everywhere; from 1 on the optimizer state, from 2 on gradients too, from 3 on parameters too are sharded.
    bytes_per_param, bytes_per_gradient, state_bytes_per_param : array or float
        2, 2 and K = 12 for Adam in mixed precision.

    Returns
    -------
    ModelStates
        Bytes: 2 P + 2 P + K P; 2 P + 2 P + K P / N_d; 2 P + (2 + K) P / N_d; (4 + K) P / N_d.

    References
    ----------
    Rajbhandari et al., ZeRO: memory optimizations toward training trillion parameter models (2020), section 5 and figure 1.
    """
    params, shards, stage = (np.asarray(each, float) for each in (n_params, replicas, zero_stage))

    def held(from_stage: int, bytes_each: FloatArray | float) -> FloatArray:
        return np.asarray(params * bytes_each / np.where(stage >= from_stage, shards, 1.0))

    return ModelStates(held(3, bytes_per_param), held(2, bytes_per_gradient), held(1, state_bytes_per_param))


def micro_batches_in_flight(
    stage: FloatArray, stages: FloatArray, micro_batches: FloatArray, schedule: FloatArray | int, chunks: FloatArray | float = 1.0
) -> FloatArray:
    """Micro-batches whose activations a stage holds at most, in passes through all of its layers.

    Parameters
    ----------
    stage : array
        Place of the stage, from 0.
    stages, micro_batches : array
        s and m.
    schedule : array or int
        Places in `mlperf.systems.coupling.schedules.SCHEDULES`.
    chunks : array or float
        Chunks v of a device when interleaved; each holds 1 / v of its layers.

    Returns
    -------
    array
        GPipe m; 1F1B min(m, s - stage); interleaved min(m v, 2 (s - stage - 1) + (v - 1) s + 1) / v.
    """
    s, m, v = np.asarray(stages, float), np.asarray(micro_batches, float), np.asarray(chunks, float)
    ahead = s - stage
    interleaved = np.minimum(m * v, np.where(v > 1.0, 2.0 * (ahead - 1.0) + (v - 1.0) * s + 1.0, ahead)) / v
    found = np.where(np.asarray(schedule) == SCHEDULES.index(INTERLEAVED), interleaved, np.minimum(m, ahead))
    return np.asarray(np.where(np.asarray(schedule) == SCHEDULES.index(GPIPE), m, found))


def kept_activations(
    activation_bytes: FloatArray, boundary_bytes: FloatArray, n_layers: FloatArray, recomputed: FloatArray
) -> FloatArray:
    """Bytes kept of one micro-batch between its passes.

    Parameters
    ----------
    activation_bytes : array
        All that the layers of the device keep without recomputation.
    boundary_bytes : array
        Input of one layer: all that is kept of a layer that is recomputed.
    n_layers : array
        Layers of the device.
    recomputed : array
        Share of layers that are recomputed.

    Returns
    -------
    array
        (1 - r) A + r L boundary.
    """
    return np.asarray((1.0 - recomputed) * np.asarray(activation_bytes) + np.asarray(recomputed) * n_layers * boundary_bytes)


def memory_of_run(run: Mapping[str, FloatArray]) -> DeviceMemory:
    """Memory of the fullest device (the first stage) of each configuration.

    Parameters
    ----------
    run : mapping of str to array
        ``n_nodes, n_gpus_per_node, n_params`` (of the whole network) and, where they are there, ``zero_stage`` (0), ``stages,
        tensor, micro_batches, chunks, n_layers`` (1), ``schedule`` (0), ``bytes_per_param`` (2), ``bytes_per_gradient`` (2),
        ``state_bytes_per_param`` (12), ``activation_bytes`` (0: kept of one sub-batch by the whole network), ``boundary_bytes``
        (0: of one sub-batch between two layers), ``recomputed`` (0), ``buffer_bytes`` (0).

    Returns
    -------
    DeviceMemory
        Of the broadcast shape.
    """

    def column(name: str, otherwise: float) -> FloatArray:
        return np.asarray(run.get(name, otherwise), dtype=np.float64)

    stages, tensor, layers = column("stages", 1.0), column("tensor", 1.0), column("n_layers", 1.0)
    zero, parts = column("zero_stage", 0.0), stages * tensor
    own_params = column("n_params", 0.0) / parts
    per = {name: column(name, value) for name, value in MIXED_PRECISION.items()}
    states = model_states(own_params, column("n_nodes", 1.0) * column("n_gpus_per_node", 1.0) / parts, zero, **per)
    two_layers = np.minimum(2.0 / (layers / stages), 1.0) * own_params * per["bytes_per_param"]
    whole = np.where(
        zero >= 3.0, np.minimum(states.parameters_bytes + two_layers, own_params * per["bytes_per_param"]), states.parameters_bytes
    )
    recomputed, layer_bytes = column("recomputed", 0.0), column("activation_bytes", 0.0) / tensor / layers
    kept = kept_activations(layer_bytes * layers / stages, column("boundary_bytes", 0.0), layers / stages, recomputed)
    flying = micro_batches_in_flight(
        np.zeros(()), stages, column("micro_batches", 1.0), column("schedule", 0.0), column("chunks", 1.0)
    )
    # A recomputed layer is whole again while its backward pass runs, one at a time.
    working = np.where(recomputed > 0.0, layer_bytes, 0.0)
    return DeviceMemory(whole, states.gradients_bytes, states.state_bytes, kept * flying + working, column("buffer_bytes", 0.0))


def memory_risk(run: Mapping[str, FloatArray]) -> FloatArray:
    """Probability of running out of ``device_memory_bytes``; ``memory_relative_std`` is the estimate's error (0: exact)."""
    std = np.asarray(run.get("memory_relative_std", 0.0), dtype=np.float64)
    return out_of_memory_probability(memory_of_run(run).total_bytes, run["device_memory_bytes"], std)


def out_of_memory_probability(needed_bytes: FloatArray, capacity_bytes: FloatArray, relative_std: FloatArray | float) -> FloatArray:
    """Probability that a device runs out, when the true need differs from the estimate by a random factor.

    Parameters
    ----------
    needed_bytes, capacity_bytes : array
        Estimate and what the device has.
    relative_std : array or float
        Standard deviation of the logarithm of true over estimated bytes (of the relative error, where that is small), >= 0.

    Returns
    -------
    array
        Phi(ln(needed / capacity) / relative_std); 0 or 1 where the estimate is exact, 0 at equality.
    """
    excess = np.log(np.asarray(needed_bytes, float) / capacity_bytes)
    std = np.broadcast_to(np.asarray(relative_std, float), np.broadcast_shapes(excess.shape, np.shape(relative_std)))
    return np.asarray(np.where(std > 0.0, ndtr(excess / np.where(std > 0.0, std, 1.0)), excess > 0.0))
