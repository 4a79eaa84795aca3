"""Equations 5 to 9 of KDD'15: what a layer computes, by stripes, and what each plan of it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.systems.model_parallel.constants import BACKWARD, FORWARD, UPDATE, Constants
from mlperf.systems.model_parallel.layers import WHOLE, LayerTable, segment_params, share, state_exchanges, working_set_bytes

SIDES = 3
"""A layer has remote traffic on 0, 1 or 2 sides: activations from below, error terms from above."""


@dataclass(frozen=True, slots=True, eq=False)
class Passes(Shown):
    """Seconds a sample of the largest segment of a layer, one thread; arrays of the shape of the stripes asked about.

    Attributes
    ----------
    forward_s : array
        U_f = C_muladd W + C_act N (eq. 5).
    backward_s : array
        U_b = C_muladd W' + C_err N (eq. 7), W' the connections to the layer above, and of a recurrent layer to itself.
    update_s : array
        U_w = C_muladd W where there are parameters (eq. 8).
    """

    forward_s: FloatArray
    backward_s: FloatArray
    update_s: FloatArray

    @property
    def total_s(self) -> FloatArray:
        """All three."""
        return np.asarray(self.forward_s + self.backward_s + self.update_s)


def segment_passes(table: LayerTable, layer: int, n_stripes: IntArray, constants: Constants) -> Passes:
    """What the largest of P stripes of a layer computes for one sample.

    With one C_muladd for all passes, as in the paper, it is that of the layer's own segment. Where passes were measured apart, the
    backward pass has that of the weights which it reads: those between the segment and the layer above.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), eqs. 5, 7 and 8.
    """
    part = share(table.rows[layer], n_stripes)
    held = working_set_bytes(table, layer, n_stripes, constants.value_bytes)
    kind, neurons = table.kind[layer], table.n_neurons[layer] * table.n_functions[layer] * part
    own = table.n_connections[layer] * part
    state_s = constants.muladd_of(held, kind, BACKWARD) * table.n_state_connections[layer] * part
    update_s = constants.muladd_of(held, kind, UPDATE) * own if table.n_params[layer] > 0 else np.zeros_like(own)
    return Passes(
        constants.muladd_of(held, kind, FORWARD) * own + constants.act_of(kind) * neurons,
        _products_above_s(table, layer, n_stripes, constants) + state_s + constants.err_of(kind) * neurons,
        update_s,
    )


def _products_above_s(table: LayerTable, layer: int, n_stripes: IntArray, constants: Constants) -> FloatArray:
    """C_muladd W': products with the weights between the largest of P stripes and the layer above."""
    part = share(table.rows[layer], n_stripes)
    if layer + 1 == table.n_layers:
        return np.zeros_like(part)
    above = table.kind[layer + 1]
    if constants.has_pass(above, BACKWARD):
        weights = table.n_params[layer + 1] * (part if above in WHOLE else 1.0)
        held = constants.value_bytes * (weights + table.n_neurons[layer + 1] * part)
    else:
        held = working_set_bytes(table, layer, n_stripes, constants.value_bytes)
    connections = table.n_connections[layer + 1] - table.n_state_connections[layer + 1]
    return np.asarray(constants.muladd_of(held, above, BACKWARD) * connections * part)


@dataclass(frozen=True, slots=True, eq=False)
class ThreadChoice(Shown):
    """The best number of threads of a segment, by stripes (index P - 1) and sides with remote traffic.

    Attributes
    ----------
    cost_s : array, shape (n_stripes, 3)
        min over H of [C_interf(H) U + k C_ncost(H)] / H, seconds a sample.
    n_threads : array of int, shape (n_stripes, 3)
        The H that reaches it.
    """

    cost_s: FloatArray
    n_threads: IntArray


def best_threads(table: LayerTable, layer: int, most_stripes: int, constants: Constants) -> ThreadChoice:
    """c_l(P, k) for P = 1 .. ``most_stripes``: H enters nowhere else, as threads share the link (eq. 9 and section 4.1.2).

    The messages of a recurrent layer's steps, forward and backward, cost a latency each; what they carry is `state_cost_s`.
    """
    stripes = np.arange(1, most_stripes + 1)
    work_s = segment_passes(table, layer, stripes, constants).total_s
    threads = np.arange(1, constants.n_cores + 1)
    sides = np.arange(SIDES)
    messages = sides[None, :] + 2.0 * state_exchanges(table, layer, stripes)[0][:, None]
    each = (constants.interference * work_s[:, None, None] + messages[:, :, None] * constants.latency_s) / threads
    best = np.argmin(each, axis=2)
    return ThreadChoice(np.take_along_axis(each, best[..., None], axis=2)[..., 0], threads[best])


def state_cost_s(table: LayerTable, layer: int, n_stripes: IntArray, constants: Constants) -> FloatArray:
    """Seconds a sample of one copy that the states and error terms of a recurrent layer's steps take on the link."""
    values = state_exchanges(table, layer, n_stripes)[1]
    return np.asarray(2.0 * values * constants.value_bytes / constants.bandwidth_bytes_per_s)


def copies_sync_s(table: LayerTable, layer: int, n_stripes: IntArray, n_copies: IntArray, constants: Constants) -> FloatArray:
    """M_w of one mini-batch: a ring over those that hold the same parameters; 0 where nobody else does.

    Copies of the segment of a layer of `WHOLE`; of a convolution, whose stripes hold all kernels, copies and stripes.
    """
    n_stripes, n_copies = np.broadcast_arrays(n_stripes, n_copies)
    count = n_copies if table.kind[layer] in WHOLE else n_copies * n_stripes
    size = segment_params(table, layer, n_stripes) * constants.value_bytes
    ring = 2.0 * (count - 1) * constants.latency_s[0] + 2.0 * (count - 1) / count * size / constants.bandwidth_bytes_per_s
    return np.asarray(np.where(size > 0.0, ring, 0.0))
