"""The cheapest plan of one replica on n workers: a shortest path over the layers' states, exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.costs import best_threads, copies_sync_s, state_cost_s
from mlperf.systems.model_parallel.layers import LayerTable, segment_params, share
from mlperf.systems.model_parallel.volumes import remote_values

BLOCK = 4_000_000
"""Entries of a pair of layers' states that are worked out at once."""
MANY = 250
"""States of a layer from which on a coarse grid is tried first."""
HARD = 4000**2
"""States of a layer times those of the next from which on the plan of the coarse grid is the answer, with its gap."""
GRID = 1.25
"""Ratio of its stripes and copies."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerStates(Shown):
    """Plans of one layer, by rising P R; arrays of shape (n_states,).

    Attributes
    ----------
    stripes, copies : array of int
        P and R.
    cost_s : array, shape (n_states, 3)
        w(P, R, k): seconds a sample with remote traffic on k sides.
    segment_bytes : array
        What a worker holds of the layer: parameters and outputs.
    """

    stripes: IntArray
    copies: IntArray
    cost_s: FloatArray
    segment_bytes: FloatArray

    @property
    def used(self) -> IntArray:
        """Workers that a state uses, P R."""
        return np.asarray(self.stripes * self.copies)

    def take(self, rows: IntArray | BoolArray) -> LayerStates:
        """Some of the states."""
        return LayerStates(self.stripes[rows], self.copies[rows], self.cost_s[rows], self.segment_bytes[rows])

    def on_grid(self, n_workers: int) -> IntArray:
        """Rows of the states whose stripes and copies lie on a coarse grid, or use up the workers."""
        grid = np.unique(np.geomspace(1, n_workers, 2 + int(np.log(n_workers) / np.log(GRID))).astype(int))
        stripes = np.isin(self.stripes, grid) | (self.stripes == self.stripes.max(initial=1))
        return np.flatnonzero(stripes & (np.isin(self.copies, grid) | (self.copies == n_workers // self.stripes)))


@dataclass(frozen=True, slots=True, eq=False)
class Path(Shown):
    """The cheapest plan: ``sample_s`` (tau), stripes and copies of each layer, and the states that were looked at.

    ``bound_s`` is what no plan can be below: ``sample_s`` itself where the plan is the cheapest, less where too many states
    were left for an exact answer.
    """

    sample_s: float
    stripes: tuple[int, ...]
    copies: tuple[int, ...]
    states_kept: tuple[int, ...]
    bound_s: float


def layer_states(
    table: LayerTable, layer: int, most_workers: int, minibatch_size: float, constants: Constants, memory_bytes: float = np.inf
) -> LayerStates:
    """Every (P, R) of a layer with P at most its rows and P R at most the workers; those beyond the memory left out."""
    most = min(most_workers, int(table.rows[layer]))
    stripes = np.repeat(np.arange(1, most + 1), most_workers // np.arange(1, most + 1))
    firsts = np.concatenate(([0], np.cumsum(most_workers // np.arange(1, most + 1))[:-1]))
    copies = np.arange(len(stripes)) - np.repeat(firsts, most_workers // np.arange(1, most + 1)) + 1
    order = np.lexsort((stripes, stripes * copies))
    stripes, copies = stripes[order], copies[order]
    choice = best_threads(table, layer, most, constants)
    sync = copies_sync_s(table, layer, stripes, copies, constants) / minibatch_size
    states_s = state_cost_s(table, layer, stripes, constants)
    cost = (choice.cost_s[stripes - 1] + states_s[:, None]) / copies[:, None] + sync[:, None]
    held = constants.value_bytes * (
        segment_params(table, layer, stripes) + table.n_neurons[layer] * share(table.rows[layer], stripes)
    )
    states = LayerStates(stripes, copies, cost, held)
    return states.take(held <= memory_bytes) if np.isfinite(memory_bytes) else states


def least_costs(states: list[LayerStates], most_workers: int) -> FloatArray:
    """Lower bound of tau for n = 1, 2, ...: every layer by itself at its best, without traffic; shape (most_workers,)."""
    found = np.zeros(most_workers)
    for each in states:
        least = np.full(most_workers, np.inf)
        np.minimum.at(least, each.used - 1, each.cost_s[:, 0])
        found += np.minimum.accumulate(least)
    return found


def cheapest_path(
    table: LayerTable, states: list[LayerStates], n_workers: int, constants: Constants, bound_s: float, charge_s: float = 0.0
) -> Path | None:
    """The plan with the least tau among those on at most n workers; None where none costs at most ``bound_s``.

    Where more states are left than `HARD`, the best plan on a coarse grid, with the lower bound that is known.

    Parameters
    ----------
    table : LayerTable
        The network.
    states : list of LayerStates
        Of each layer.
    n_workers : int
        Of the replica.
    constants : Constants
        Of a machine.
    bound_s : float
        tau of a plan that is known: states through which no path can be as cheap are left out.
    charge_s : float
        Seconds that a byte held by a worker is charged, for a limit of the memory.

    References
    ----------
    Bellman; states are reduced to (P, R) as H enters each layer's own cost only.
    """
    allowed = [each.take(each.used <= n_workers) for each in states]
    costs = [each.cost_s + charge_s * each.segment_bytes[:, None] for each in allowed]
    least = np.array([cost[:, 0].min(initial=np.inf) for cost in costs])
    if not np.isfinite(least).all():
        return None
    kept = _useful(costs, least, bound_s)
    if all(len(each) for each in kept) and max(map(len, kept)) > MANY:
        # A plan on a coarse grid costs little and often bounds tau so well that few states are left.
        coarse = [each.take(rows).on_grid(n_workers) for each, rows in zip(allowed, kept, strict=True)]
        thin = [rows[grid] for rows, grid in zip(kept, coarse, strict=True)]
        found = _on(table, allowed, costs, thin, constants) if all(map(len, thin)) else None
        if found is not None and found.sample_s < bound_s:
            bound_s = found.sample_s
            kept = _useful(costs, least, bound_s)
        if found is not None and max(len(low) * len(high) for low, high in pairwise([kept[0], *kept])) > HARD:
            return replace(found, bound_s=float(least.sum()))
    if not all(len(each) for each in kept):
        return None
    path = _on(table, allowed, costs, kept, constants)
    # A path above the bound need not be the cheapest: what would be cheaper may lie among the states left out.
    return None if path is None or path.sample_s > bound_s * (1.0 + 1e-12) else path


def _useful(costs: list[FloatArray], least: FloatArray, bound_s: float) -> list[IntArray]:
    """States of each layer through which a path may cost at most ``bound_s``."""
    slack = bound_s * (1.0 + 1e-12) - (least.sum() - least)
    return [np.flatnonzero(cost[:, 0] <= room) for cost, room in zip(costs, slack, strict=True)]


def _on(
    table: LayerTable, states: list[LayerStates], costs: list[FloatArray], rows: list[IntArray], constants: Constants
) -> Path | None:
    chosen = [each.take(some) for each, some in zip(states, rows, strict=True)]
    return _shortest(table, chosen, [cost[some] for cost, some in zip(costs, rows, strict=True)], constants)


def _shortest(table: LayerTable, states: list[LayerStates], costs: list[FloatArray], constants: Constants) -> Path | None:
    byte_s = constants.value_bytes / constants.bandwidth_bytes_per_s
    value = np.column_stack([np.zeros(len(states[0].stripes)), np.full(len(states[0].stripes), np.inf)])
    back: list[tuple[IntArray, IntArray]] = []
    for layer in range(table.n_layers - 1):
        value, came, remote = _step(table, layer, states, costs[layer], value, byte_s)
        back.append((came, remote))
    last = costs[-1]
    total = np.column_stack([value[:, 0] + last[:, 0], value[:, 1] + last[:, 1]])
    state, side = np.unravel_index(int(np.argmin(total)), total.shape)
    best = float(total[state, side])
    if not np.isfinite(best):
        return None
    path = [int(state)]
    at, bit = int(state), int(side)
    for came, remote in reversed(back):
        at, bit = int(came[at, bit]), int(remote[at, bit])
        path.append(at)
    path.reverse()
    return Path(
        best,
        tuple(int(each.stripes[at]) for each, at in zip(states, path, strict=True)),
        tuple(int(each.copies[at]) for each, at in zip(states, path, strict=True)),
        tuple(len(each.stripes) for each in states),
        best,
    )


def _step(
    table: LayerTable, layer: int, states: list[LayerStates], cost: FloatArray, value: FloatArray, byte_s: float
) -> tuple[FloatArray, IntArray, IntArray]:
    """From the value of a layer's states to that of the next: shape (n_next, 2), with the state and side that each came from.

    A side bit says whether a layer receives activations from other machines; whether it receives error terms is known of the pair.
    """
    low, high = states[layer], states[layer + 1]
    n_low, n_high = len(low.stripes), len(high.stripes)
    # By whether error terms come from other machines: the best own side, and what it costs.
    by_error = [np.column_stack([value[:, side] + cost[:, side + error] for side in (0, 1)]) for error in (0, 1)]
    own_side = [np.argmin(each, axis=1) for each in by_error]
    own = [each.min(axis=1) for each in by_error]
    found = np.full((n_high, 2), np.inf)
    came = np.zeros((n_high, 2), int)
    side_of = np.zeros((n_high, 2), int)
    width = max(BLOCK // max(n_low, 1), 1)
    for start in range(0, n_high, width):
        part = slice(start, min(start + width, n_high))
        p_l, r_l = low.stripes[:, None], low.copies[:, None]
        p_h, r_h = high.stripes[None, part], high.copies[None, part]
        forward = remote_values(table, layer, layer + 1, p_l, r_l, p_h, r_h)
        backward = remote_values(table, layer + 1, layer, p_h.T, r_h.T, p_l.T, r_l.T).T
        has_error = backward > 0.0
        total = np.where(has_error, own[1][:, None], own[0][:, None]) + (backward / r_l + forward / r_h) * byte_s
        remote = forward > 0.0
        for bit in (0, 1):
            masked = np.where(remote == bool(bit), total, np.inf)
            best = np.argmin(masked, axis=0)
            columns = np.arange(best.size)
            found[part, bit] = masked[best, columns]
            came[part, bit] = best
            side_of[part, bit] = np.where(has_error[best, columns], own_side[1][best], own_side[0][best])
    return found, came, side_of
