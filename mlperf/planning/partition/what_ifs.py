"""The same cluster with other hardware, and how much each constant weighs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.planning.partition.optimize import Found, Limits, PartitionJob, optimise
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.epoch import epoch_s, sample_times
from mlperf.systems.model_parallel.layers import LayerTable
from mlperf.systems.model_parallel.server_exchange import server_exchange

RDMA_LATENCY_S, RDMA_THREAD_S, RDMA_BYTES_PER_S = 2e-6, 1e-7, 4.5e9
FASTER = 10.0
STEP = 1e-4
"""Relative change of a constant behind its elasticity."""
TENTH_LOWER = 0.9


def rdma(constants: Constants) -> Constants:
    """A network of remote direct memory access: 2 us and 0.1 us for each further thread, 4.5 GB/s."""
    latency = RDMA_LATENCY_S + RDMA_THREAD_S * np.arange(constants.n_cores, dtype=np.float64)
    return dataclasses.replace(constants, latency_s=latency, bandwidth_bytes_per_s=RDMA_BYTES_PER_S)


def arithmetic(constants: Constants, factor: float = FASTER) -> Constants:
    """Every multiply-add, activation and error term ``factor`` times as fast, as on an accelerator."""
    found = scale_muladd(constants, 1.0 / factor)
    return scale_err(scale_act(found, 1.0 / factor), 1.0 / factor)


def no_cache_miss(constants: Constants) -> Constants:
    """Every working set as fast as the smallest one."""
    kinds = {kind: (size, np.full_like(cost, cost[0]), cache) for kind, (size, cost, cache) in constants.of_kinds.items()}
    return dataclasses.replace(constants, muladd_s=np.full_like(constants.muladd_s, constants.muladd_s[0]), of_kinds=kinds)


def scale_muladd(constants: Constants, factor: float) -> Constants:
    """C_muladd of all kinds and working sets times a factor."""
    kinds = {kind: (size, cost * factor, cache) for kind, (size, cost, cache) in constants.of_kinds.items()}
    return dataclasses.replace(constants, muladd_s=constants.muladd_s * factor, of_kinds=kinds)


def scale_act(constants: Constants, factor: float) -> Constants:
    """C_act of all kinds times a factor."""
    kinds = {kind: value * factor for kind, value in constants.act_of_kinds.items()}
    return dataclasses.replace(constants, act_s=constants.act_s * factor, act_of_kinds=kinds)


def scale_err(constants: Constants, factor: float) -> Constants:
    """C_err of all kinds times a factor."""
    kinds = {kind: value * factor for kind, value in constants.err_of_kinds.items()}
    return dataclasses.replace(constants, err_s=constants.err_s * factor, err_of_kinds=kinds)


def scale_add(constants: Constants, factor: float) -> Constants:
    """C_add of all working sets times a factor."""
    held = None if constants.add_of_bytes is None else (constants.add_of_bytes[0], constants.add_of_bytes[1] * factor)
    return dataclasses.replace(constants, add_s=constants.add_s * factor, add_of_bytes=held)


def twice_the_bandwidth(constants: Constants) -> Constants:
    """Links of twice the bandwidth, latencies as they are."""
    return dataclasses.replace(constants, bandwidth_bytes_per_s=2.0 * constants.bandwidth_bytes_per_s)


WHAT_IFS: Mapping[str, Callable[[Constants], Constants]] = MappingProxyType(
    {
        "rdma": rdma,
        "arithmetic": arithmetic,
        "rdma+arithmetic": lambda constants: rdma(arithmetic(constants)),
        "no-cache-miss": no_cache_miss,
        "bandwidth": twice_the_bandwidth,
    }
)
"""By name; arithmetic is ten times as fast, bandwidth doubled."""

SCALED: Mapping[str, Callable[[Constants, float], Constants]] = MappingProxyType(
    {
        "multiply-add": scale_muladd,
        "activation": scale_act,
        "error term": scale_err,
        "latency": lambda constants, factor: dataclasses.replace(constants, latency_s=constants.latency_s * factor),
        "byte on a link": lambda constants, factor: dataclasses.replace(
            constants, bandwidth_bytes_per_s=constants.bandwidth_bytes_per_s / factor
        ),
        "server's addition": scale_add,
    }
)
"""Times whose share of the epoch is asked for; together they are all of it."""


def kept_epoch_s(table: LayerTable, constants: Constants, job: PartitionJob, plan: Found, threads: tuple[int, ...]) -> float:
    """Seconds of an epoch with a plan that is kept as it is, its threads included."""
    times = sample_times(table, constants, plan.stripes, plan.copies, job.minibatch_size, threads)
    exchange = server_exchange(table.all_params, plan.n_workers, plan.n_replicas, plan.n_servers, constants)
    period = exchange.period_s(np.asarray(job.minibatch_size * times.sample_s), synchronous=job.synchronous)
    return float(epoch_s(period, np.asarray(float(plan.n_replicas)), job.minibatch_size, job.dataset_size))


def what_if_table(
    table: LayerTable,
    constants: Constants,
    job: PartitionJob,
    limits: Limits,
    plan: Found,
    threads: tuple[int, ...],
    names: tuple[str, ...],
) -> pd.DataFrame:
    """One row a what-if: the epoch with the plan kept and with the best plan for that hardware.

    Returns
    -------
    DataFrame
        ``what_if, kept_epoch_s, epoch_s, speedup, n_workers, n_replicas, n_servers, gap``: another plan for that hardware may
        be a fraction ``gap`` faster (0: none is).

    Raises
    ------
    UsageError
        A name that is not in `WHAT_IFS`.
    """
    rows = []
    for name in names:
        if name not in WHAT_IFS:
            known = ", ".join(WHAT_IFS)
            raise UsageError(f"got what-if {name!r}, expected one of {known}", hint=nearest_hint(name, WHAT_IFS))
        changed = WHAT_IFS[name](constants)
        optimum = optimise(table, changed, job, limits)
        best, bound_s = optimum.best, optimum.best.epoch_s / (1.0 + optimum.gap)
        kept = kept_epoch_s(table, changed, job, plan, threads)
        if kept < best.epoch_s:
            # Where the memory binds, planning anew may miss what the kept plan reaches.
            best = dataclasses.replace(plan, epoch_s=kept)
        speedup, gap = plan.epoch_s / best.epoch_s, max(best.epoch_s / bound_s - 1.0, 0.0) if optimum.gap else 0.0
        rows.append((name, kept, best.epoch_s, speedup, best.n_workers, best.n_replicas, best.n_servers, gap))
    columns = ["what_if", "kept_epoch_s", "epoch_s", "speedup", "n_workers", "n_replicas", "n_servers", "gap"]
    return pd.DataFrame(rows, columns=columns)


def elasticities(
    table: LayerTable, constants: Constants, job: PartitionJob, plan: Found, threads: tuple[int, ...]
) -> dict[str, float]:
    """Elasticities d ln epoch / d ln constant of a kept plan, by central differences; they add up to 1."""
    found = {}
    for name, scaled in SCALED.items():
        high, low = (kept_epoch_s(table, scaled(constants, factor), job, plan, threads) for factor in (1 + STEP, 1 - STEP))
        found[name] = float((np.log(high) - np.log(low)) / (np.log1p(STEP) - np.log1p(-STEP)))
    return found


def tenths_lower_s(
    table: LayerTable, constants: Constants, job: PartitionJob, plan: Found, threads: tuple[int, ...]
) -> dict[str, float]:
    """Seconds of an epoch of a kept plan with each constant a tenth lower: less is won where another part becomes the slowest."""
    return {name: kept_epoch_s(table, scaled(constants, TENTH_LOWER), job, plan, threads) for name, scaled in SCALED.items()}
