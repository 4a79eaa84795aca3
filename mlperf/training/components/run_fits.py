"""Costs of the components from asynchronous runs: forms that compete by AICc, the same for every network and number of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import FitError
from mlperf.features.network.components import component_columns
from mlperf.models.estimators.choice.form_average import FormAverage
from mlperf.models.estimators.choice.shared_shape import Lengths, fit_shared_shape
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.sprint.components import IMAGE_OPERATIONS, SHARE_OPERATIONS, VECTOR_OPERATIONS
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.training.components.jitter import variation_of_iterations
from mlperf.training.components.run_settings import (
    BARRIER,
    PAYLOAD,
    grid_of,
    measured_seconds,
    spread_times,
    variations,
)

ALLREDUCE = "allreduce"
N_ROUNDS = 3
IMAGE_NOISE, MEETING_NOISE = 0.02, 0.1
IMAGE_FORMS = (
    ("image_elements",),
    ("1", "image_elements"),
    ("subbatch_size",),
    ("1", "subbatch_size"),
    ("subbatch_size", "image_elements"),
)
BY_NODES = ("(n_nodes - 1) / n_nodes", "log2(n_nodes)", "(n_nodes - 1)", "1")
"""How an exchange may grow with the nodes: halving and doubling or a ring; a tree; one after the other; not at all."""

MEETING_FORMS = (("1",), ("log2(n_nodes)",))
CACHE_SHARES = (32, 16, 12, 8)
"""Bytes of the last cache over a length at which vector operations leave it: two, three or four vectors of four bytes, or four
where other threads have half of the cache."""

LATENCY_SHARE = 0.1
"""How much of an exchange may be latency where vectors of one length cannot tell: a prior, no fit."""


@dataclass(frozen=True, slots=True, eq=False)
class RunFits:
    """What asynchronous runs say of component times.

    Attributes
    ----------
    costs : mapping of str to tuple of FormAverage
        By component; what is there adds up: the all-reduce is its payload and what the meeting itself costs.
    variation : mapping of str to float
        Coefficients of variation by name of the spread.
    """

    costs: Mapping[str, tuple[FormAverage, ...]]
    variation: Mapping[str, float]

    def seconds(self, columns: pd.DataFrame, step_s: FloatArray) -> dict[str, FloatArray]:
        """Mean seconds by column of each configuration, shape (n_configs,); ``step_s`` is the gradient's."""
        found = {f"{name}_s": _total(parts, columns) for name, parts in self.costs.items() if name != ALLREDUCE}
        return {**found, "compute_gradient_s": step_s, "allreduce_s": self.exchange_s(columns)}

    @property
    def tells_exchange(self) -> bool:
        """Whether the runs tell one form of the exchange from all others; runs on two numbers of nodes, one of them 1, do not."""
        return ALLREDUCE in self.costs and self.costs[ALLREDUCE][0].told_apart

    def exchange_s(self, columns: pd.DataFrame) -> FloatArray:
        """The all-reduce without its barrier, seconds; 0 on one node."""
        found = np.zeros(len(columns))
        together = (columns["n_nodes"] > 1).to_numpy(bool)
        if together.any():
            found[together] = _total(self.costs[ALLREDUCE], columns[together])
        return found


def _total(parts: Sequence[FormAverage], columns: pd.DataFrame) -> FloatArray:
    return np.asarray(np.sum([part.predict(columns) for part in parts], axis=0))


def fit_runs(settings: pd.DataFrame, cnns: Mapping[str, CnnSpec], cache_bytes: Mapping[str, int]) -> RunFits:
    """Fit every component of settings (see `mlperf.training.components.run_settings.run_settings`).

    Parameters
    ----------
    settings : DataFrame
        One row a setting; with one network or several, on one node or several.
    cnns : mapping
        Specifications by name.
    cache_bytes : mapping of str to int
        Caches of the host by level; may be empty.

    Raises
    ------
    FitError
        No row, or a component on which no form stands.
    """
    if settings.empty:
        raise FitError("got no asynchronous run, expected some")
    columns = component_columns(settings, cnns)
    variation = variations(settings) if PAYLOAD in settings else {"gpu_work": variation_of_iterations(settings)}
    costs: dict[str, tuple[FormAverage, ...]] = {
        name: (model,) for name, model in fit_shared_shape(_vectors(columns), _knots(cache_bytes)).items()
    }
    for name in IMAGE_OPERATIONS:
        if (columns[f"{name}_s"] > 0).all():
            costs[name] = (FormAverage(IMAGE_FORMS, floor=IMAGE_NOISE).fit(columns, columns[f"{name}_s"]),)
    together = (settings["n_nodes"] > 1).to_numpy(bool)
    if together.any():
        costs[ALLREDUCE] = _fit_exchange(columns[together].reset_index(drop=True), variation)
    return RunFits(costs, variation)


def _vectors(columns: pd.DataFrame) -> dict[str, Lengths]:
    lengths = dict.fromkeys(VECTOR_OPERATIONS, "n_params") | dict.fromkeys(SHARE_OPERATIONS, "params_share")
    found = {}
    for name, column in lengths.items():
        means = columns.groupby(column, sort=True)[f"{name}_s"].mean()
        found[name] = Lengths(column, means.index.to_numpy(float), means.to_numpy(float))
    return found


def _knots(cache_bytes: Mapping[str, int]) -> tuple[float, ...]:
    largest = max(cache_bytes.values(), default=0)
    return tuple(largest / share for share in CACHE_SHARES) if largest else ()


def _fit_exchange(columns: pd.DataFrame, variation: Mapping[str, float]) -> tuple[FormAverage, ...]:
    """Payload, and what the meeting costs beyond the wait that the equations know; without details what is left of the whole."""
    forms = exchange_forms(columns["n_params"].to_numpy(float))
    waits_s = barrier_waits(columns, variation)
    if PAYLOAD not in columns:
        left_s = np.maximum(columns["allreduce_s"].to_numpy(float) - waits_s, columns["allreduce_s"].min() * 1e-3)
        return (FormAverage(forms).fit(columns, left_s),)
    payload = FormAverage(forms).fit(columns, columns[PAYLOAD])
    beyond_s = (columns[BARRIER] - waits_s).groupby(columns["n_nodes"]).mean()
    if (beyond_s <= 0.0).any():
        return (payload,)
    points = beyond_s.index.to_frame(index=False)
    return payload, FormAverage(MEETING_FORMS, floor=MEETING_NOISE).fit(points, beyond_s.to_numpy(float))


def exchange_forms(lengths: FloatArray) -> tuple[tuple[str, ...], ...]:
    """Forms of an all-reduce: the vector by one function of the nodes, alone or with a latency by another.

    With one network a latency cannot be told from a vector that never changes: forms of latency alone are not offered, and each
    form of the vector stands twice, as vector alone and with `LATENCY_SHARE` of latency.

    Parameters
    ----------
    lengths : array, shape (n_rows,)
        ``n_params`` of the runs.
    """
    sent = tuple(_by_nodes("n_params", factor) for factor in BY_NODES)
    latencies = BY_NODES[1:]
    both = tuple((term, latency) for term in sent for latency in latencies)
    alone = tuple((term,) for term in sent)
    if np.ptp(lengths) > 0.0:
        return alone + both + tuple((latency,) for latency in latencies)
    called = lengths[0] * LATENCY_SHARE / (1.0 - LATENCY_SHARE)
    return alone + both + tuple((_by_nodes(f"(n_params + {called:.6g})", factor),) for factor in BY_NODES)


def _by_nodes(vector: str, factor: str) -> str:
    return vector if factor == "1" else f"{vector} * {factor}"


def barrier_waits(settings: pd.DataFrame, variation: Mapping[str, float]) -> FloatArray:
    """Part of the measured all-reduce that the equations call waiting for the slowest node, seconds, shape (n_settings,).

    Where the payload was not measured, the wait depends on the periods and those on the wait: the third round has forgotten the
    first guess, in which the payload was the whole all-reduce.
    """
    seconds = measured_seconds(settings)
    if PAYLOAD in settings:
        payload_s = settings[PAYLOAD].to_numpy(float)
        return solve_iterations(
            spread_times({**seconds, "allreduce_s": payload_s}, variation), grid_of(settings), "phases"
        ).barrier_wait_s
    wait_s = np.zeros(len(settings))
    for _ in range(N_ROUNDS):
        payload_s = np.maximum(seconds["allreduce_s"] - wait_s, 0.0)
        times = spread_times({**seconds, "allreduce_s": payload_s}, variation)
        wait_s = solve_iterations(times, grid_of(settings), "phases").barrier_wait_s
    return wait_s
