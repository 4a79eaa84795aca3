"""From the plans of all layers to the time of a sample, of a mini-batch and of an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.costs import best_threads, copies_sync_s, segment_passes
from mlperf.systems.model_parallel.layers import LayerTable, state_exchanges
from mlperf.systems.model_parallel.volumes import remote_values


@dataclass(frozen=True, slots=True, eq=False)
class SampleTimes(Shown):
    """Seconds a sample of one replica, by layer; arrays of shape (n_layers,).

    Attributes
    ----------
    forward_s, backward_s, update_s : array
        Computing, threads and samples in flight considered.
    activations_s, errors_s : array
        Messages that the layer receives: M_f and M_b over the samples in flight; of a recurrent layer those between its own stripes
        at every step, too.
    copies_s : array
        Exchange of parameters among copies, a sample's share.
    n_threads : array of int
        H of each layer.
    activation_values, error_values : array
        Values a sample that the worst segment receives, A and E.
    """

    forward_s: FloatArray
    backward_s: FloatArray
    update_s: FloatArray
    activations_s: FloatArray
    errors_s: FloatArray
    copies_s: FloatArray
    n_threads: IntArray
    activation_values: FloatArray
    error_values: FloatArray

    @property
    def layer_s(self) -> FloatArray:
        """Seconds a sample of each layer."""
        compute = self.forward_s + self.backward_s + self.update_s
        return np.asarray(compute + self.activations_s + self.errors_s + self.copies_s)

    @property
    def sample_s(self) -> float:
        """tau: layers one after the other."""
        return float(self.layer_s.sum())


def sample_times(
    table: LayerTable,
    constants: Constants,
    stripes: Sequence[int],
    copies: Sequence[int],
    minibatch_size: float,
    threads: Sequence[int] | None = None,
) -> SampleTimes:
    """What one sample of a replica costs under a plan.

    Parameters
    ----------
    table, constants
        Network and machine.
    stripes, copies : sequence of int
        P and R of each layer.
    minibatch_size : float
        B of the replica.
    threads : sequence of int, optional
        H of each layer; by default the best.

    Raises
    ------
    DataError
        More stripes than a layer has rows, or more threads than a machine has cores.
    """
    check_plan(table, constants, stripes, copies, threads)
    activations = np.zeros(table.n_layers)
    errors = np.zeros(table.n_layers)
    for below in range(table.n_layers - 1):
        low, high = (np.array([[stripes[at]], [copies[at]]]) for at in (below, below + 1))
        activations[below + 1] = remote_values(table, below, below + 1, low[:1], low[1:], high[:1], high[1:])[0, 0]
        errors[below] = remote_values(table, below + 1, below, high[:1], high[1:], low[:1], low[1:])[0, 0]
    chosen = np.array(
        [
            best_threads(table, layer, stripes[layer], constants).n_threads[
                -1, int(activations[layer] > 0) + int(errors[layer] > 0)
            ]
            for layer in range(table.n_layers)
        ]
        if threads is None
        else threads
    )
    passes = [segment_passes(table, layer, np.array([stripes[layer]]), constants) for layer in range(table.n_layers)]
    at_once = np.asarray(copies) * chosen
    slower = constants.interference[chosen - 1] / at_once
    byte_s = constants.value_bytes * chosen / constants.bandwidth_bytes_per_s
    latency = constants.latency_s[chosen - 1]
    inside = np.array([np.ravel(state_exchanges(table, at, np.array([stripes[at]]))) for at in range(table.n_layers)]).T
    inside_s = inside[0] * latency + inside[1] * byte_s
    return SampleTimes(
        slower * np.array([each.forward_s[0] for each in passes]),
        slower * np.array([each.backward_s[0] for each in passes]),
        slower * np.array([each.update_s[0] for each in passes]),
        (np.where(activations > 0.0, latency + activations * byte_s, 0.0) + inside_s) / at_once,
        (np.where(errors > 0.0, latency + errors * byte_s, 0.0) + inside_s) / at_once,
        np.array(
            [
                float(copies_sync_s(table, layer, np.array([stripes[layer]]), np.array([copies[layer]]), constants)[0])
                for layer in range(table.n_layers)
            ]
        )
        / minibatch_size,
        chosen,
        activations + inside[1],
        errors + inside[1],
    )


def check_plan(
    table: LayerTable, constants: Constants, stripes: Sequence[int], copies: Sequence[int], threads: Sequence[int] | None
) -> None:
    """Refuse a plan that cannot run.

    Raises
    ------
    DataError
        Names the layer, what it was given and what it can have.
    """
    for layer in range(table.n_layers):
        place = f"network {table.name!r}, layer {table.layers[layer]!r}"
        if not 1 <= stripes[layer] <= table.rows[layer]:
            raise DataError(f"got {stripes[layer]} stripes, expected 1 to its {table.rows[layer]} rows", place=place)
        if copies[layer] < 1:
            raise DataError(f"got {copies[layer]} copies, expected at least 1", place=place)
        if threads is not None and not 1 <= threads[layer] <= constants.n_cores:
            raise DataError(f"got {threads[layer]} threads, expected 1 to {constants.n_cores} cores", place=place)


def epoch_s(period: FloatArray, n_replicas: FloatArray, minibatch_size: float, dataset_size: float) -> FloatArray:
    """Seconds of an epoch: N / (A B) periods."""
    return np.asarray(dataset_size / (np.asarray(n_replicas) * minibatch_size) * period)


def overlapped_staleness(n_replicas: FloatArray | IntArray | float, n_servers: FloatArray | IntArray | float) -> FloatArray:
    """Mean updates between the pull of weights and the use of a gradient made with them, the exchange behind the next mini-batch.

    A period of max(B tau, T_sync) means that a replica computes on while it pushes: two gradients of every replica are under way,
    one being made and one being sent, so 2 A - 1 updates. With one gradient under way (push, pull, then compute) it would be
    A - 1. 0 without servers.
    """
    return np.asarray(np.where(np.asarray(n_servers) > 0, 2.0 * np.asarray(n_replicas, np.float64) - 1.0, 0.0))
