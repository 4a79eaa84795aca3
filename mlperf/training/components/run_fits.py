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

ALGORITHMS = (
    ("(n_nodes - 1) / n_nodes", "(n_nodes - 1)"),
    ("(n_nodes - 1) / n_nodes", "log2(n_nodes)"),
    ("log2(n_nodes)", "log2(n_nodes)"),
)
"""Vector and latency of a ring, of halving and doubling, of a tree: what libraries do. Where all exchanges were of one number of
nodes, which tells nothing of how they grow, each has one vote and no other way has any."""

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
    return fit_each([settings], cnns, cache_bytes)[0]


def fit_each(tables: Sequence[pd.DataFrame], cnns: Mapping[str, CnnSpec], cache_bytes: Mapping[str, int]) -> list[RunFits]:
    """Fit every component of several tables of settings with the same columns, each by itself as `fit_runs` does.

    The equations of all tables are solved at once, which takes a part of the time.

    Parameters
    ----------
    tables : sequence of DataFrame
        At least one; each as `fit_runs` takes it.
    cnns, cache_bytes
        As of `fit_runs`.

    Raises
    ------
    FitError
        No table, one without a row, or a component on which no form stands.
    """
    if not tables or any(settings.empty for settings in tables):
        raise FitError("got no asynchronous run, expected some")
    columns = [component_columns(settings, cnns) for settings in tables]
    spreads = [
        variations(settings) if PAYLOAD in settings else {"gpu_work": variation_of_iterations(settings)} for settings in tables
    ]
    together = [part[(part["n_nodes"] > 1).to_numpy(bool)].reset_index(drop=True) for part in columns]
    waits_s = barrier_waits(together, spreads)
    found = []
    for part, meeting, variation, wait_s in zip(columns, together, spreads, waits_s, strict=True):
        costs = _fit_alone(part, cache_bytes)
        if len(meeting):
            costs[ALLREDUCE] = _fit_exchange(meeting, wait_s)
        found.append(RunFits(costs, variation))
    return found


def _fit_alone(columns: pd.DataFrame, cache_bytes: Mapping[str, int]) -> dict[str, tuple[FormAverage, ...]]:
    """Costs of what a node does by itself."""
    costs: dict[str, tuple[FormAverage, ...]] = {
        name: (model,) for name, model in fit_shared_shape(_vectors(columns), _knots(cache_bytes)).items()
    }
    for name in IMAGE_OPERATIONS:
        if (columns[f"{name}_s"] > 0).all():
            costs[name] = (FormAverage(IMAGE_FORMS, floor=IMAGE_NOISE).fit(columns, columns[f"{name}_s"]),)
    return costs


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


def _fit_exchange(columns: pd.DataFrame, waits_s: FloatArray) -> tuple[FormAverage, ...]:
    """Payload, and what the meeting costs beyond the wait that the equations know; without details what is left of the whole."""
    forms = exchange_forms(*columns[["n_params", "n_nodes"]].to_numpy(float).T)
    if PAYLOAD not in columns:
        left_s = np.maximum(columns["allreduce_s"].to_numpy(float) - waits_s, columns["allreduce_s"].min() * 1e-3)
        return (FormAverage(forms).fit(columns, left_s),)
    payload = FormAverage(forms).fit(columns, columns[PAYLOAD])
    beyond_s = (columns[BARRIER] - waits_s).groupby(columns["n_nodes"]).mean()
    if (beyond_s <= 0.0).any():
        return (payload,)
    points = beyond_s.index.to_frame(index=False)
    return payload, FormAverage(MEETING_FORMS, floor=MEETING_NOISE).fit(points, beyond_s.to_numpy(float))


def exchange_forms(lengths: FloatArray, n_nodes: FloatArray) -> tuple[tuple[str, ...], ...]:
    """Forms of an all-reduce: the vector by one function of the nodes, alone or with a latency by another.

    With one network a latency cannot be told from a vector that never changes: forms of latency alone are not offered, and each
    form of the vector stands twice, as vector alone and with `LATENCY_SHARE` of latency. Runs on one number of several nodes are
    offered `ALGORITHMS`, those on more numbers every pair of `BY_NODES`.

    Parameters
    ----------
    lengths, n_nodes : array, shape (n_rows,)
        ``n_params`` and nodes of the runs on several nodes.

    References
    ----------
    Thakur, Rabenseifner and Gropp (2005), Optimization of Collective Communication Operations in MPICH.
    """
    grows = np.ptp(n_nodes) > 0.0
    pairs = tuple((sent, latency) for sent in BY_NODES for latency in BY_NODES[1:]) if grows else ALGORITHMS
    sent = BY_NODES if grows else tuple(factor for factor, _ in ALGORITHMS)
    alone = tuple((_by_nodes("n_params", factor),) for factor in sent)
    both = tuple((_by_nodes("n_params", factor), latency) for factor, latency in pairs)
    if np.ptp(lengths) > 0.0:
        return alone + both + tuple((latency,) for latency in (BY_NODES[1:] if grows else [each for _, each in ALGORITHMS]))
    called = lengths[0] * LATENCY_SHARE / (1.0 - LATENCY_SHARE)
    return alone + both + tuple((_by_nodes(f"(n_params + {called:.6g})", factor),) for factor in sent)


def _by_nodes(vector: str, factor: str) -> str:
    return vector if factor == "1" else f"{vector} * {factor}"


def barrier_waits(tables: Sequence[pd.DataFrame], spreads: Sequence[Mapping[str, float]]) -> list[FloatArray]:
    """Part of the measured all-reduce that the equations call waiting for the slowest node, seconds, shape (n_settings,) each.

    Where the payload was not measured, the wait depends on the periods and those on the wait: the third round has forgotten the
    first guess, in which the payload was the whole all-reduce.

    Parameters
    ----------
    tables : sequence of DataFrame
        Settings on several nodes; may be empty.
    spreads : sequence of mapping
        Coefficients of variation of each table by name of the spread, the same names for all.
    """
    counts = [len(settings) for settings in tables]
    settings = pd.concat(tables, ignore_index=True)
    if settings.empty:
        return [np.zeros(0) for _ in tables]
    seconds = measured_seconds(settings)
    variation = {name: np.repeat([own[name] for own in spreads], counts) for name in spreads[0]}

    def waits_of(payload_s: FloatArray) -> FloatArray:
        times = spread_times({**seconds, "allreduce_s": payload_s}, variation)
        return solve_iterations(times, grid_of(settings), "phases").barrier_wait_s

    if PAYLOAD in settings:
        wait_s = waits_of(settings[PAYLOAD].to_numpy(float))
    else:
        wait_s = np.zeros(len(settings))
        for _ in range(N_ROUNDS):
            wait_s = waits_of(np.maximum(seconds["allreduce_s"] - wait_s, 0.0))
    return np.split(wait_s, np.cumsum(counts)[:-1])
