"""The best partition of a network on a cluster, with everything a user asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.features.network.partition import layer_table
from mlperf.planning.partition.machine import equation_constants
from mlperf.planning.partition.optimize import (
    Found,
    Limits,
    Optimum,
    PartitionJob,
    optimise,
    replicas_of,
    with_cores,
    worker_counts,
)
from mlperf.planning.partition.uncertainty import UNKNOWN, PlanUncertainty, plan_uncertainty
from mlperf.planning.partition.what_ifs import elasticities, tenths_lower_s, what_if_table
from mlperf.specs.constants import MachineConstants
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.epoch import SampleTimes, epoch_s, overlapped_staleness, sample_times
from mlperf.systems.model_parallel.layers import LayerTable, working_set_bytes
from mlperf.systems.model_parallel.server_exchange import server_exchange, shard_bytes

ALL_UNIFORM = 64
"""Numbers of workers up to which every uniform plan is tried; beyond, a grid of ratio 1.1."""
PARTS = ("forward_s", "backward_s", "update_s", "activations_s", "errors_s", "copies_s")
SHAPE = ("n_workers", "n_replicas", "n_servers")


@dataclass(frozen=True, slots=True, eq=False)
class PartitionPlan(Shown):
    """The fastest configuration of a cluster for a network.

    Attributes
    ----------
    network, machine, source : str
        Names, and where the constants of the network are from.
    machines : int
        Machines there are, M.
    minibatch_size : float
        Samples per update of one replica, B.
    dataset_size : float
        Samples of an epoch.
    synchronous : bool
        Whether replicas wait for the exchange with the servers.
    epoch_s, period_s, sample_s : float
        Epoch, time between two updates of a replica, sample of one replica.
    n_workers, n_replicas, n_servers, n_free : int
        n, A, S, and machines that nothing uses.
    mean_staleness : float
        2 A - 1 updates of asynchronous replicas behind servers, 0 of others.
    thread_s, single_s : float
        Epoch on one thread, and on one machine.
    layers : DataFrame
        One row a layer: stripes P, copies R, threads H, samples in flight, values in, bytes held by a worker, seconds by part.
    period : DataFrame
        What a period consists of: ``part, time_s``.
    bottleneck : str
        The constant with the largest elasticity.
    elasticities : mapping of str to float
        Per cent of the epoch for each per cent of a constant, the plan kept.
    tenths_lower_s : mapping of str to float
        Epoch with each constant a tenth lower, the plan kept.
    others : DataFrame
        The best (n, A, S), the plan's own first, by ``epoch_s``; another plan of each may be a fraction ``gap`` faster (0: none).
    uniform : DataFrame
        One row: the best plan with the same P in every layer.
    scaling : DataFrame
        One row a number of machines: epoch, shape, speed-up over one machine, efficiency, machine-hours and cost of an epoch,
        and the ``gap`` of the epoch.
    what_ifs : DataFrame
        One row a what-if: the epoch with this plan and with the best for that hardware, and the ``gap`` of that.
    epochs : int
        Epochs that the budget completes; -1 without a budget.
    programmes, states_kept, excluded : int
        Shortest paths worked out, most states in one, numbers of workers that bounds excluded.
    gap : float
        By how much another plan might still be better, a fraction; 0: the plan is the optimum.
    in_domain : bool
        Whether the constants were measured over the network that is planned for.
    uncertainty : PlanUncertainty
        What the standard errors of the constants make of it.
    """

    network: str
    machine: str
    source: str
    machines: int
    minibatch_size: float
    dataset_size: float
    synchronous: bool
    epoch_s: float
    period_s: float
    sample_s: float
    n_workers: int
    n_replicas: int
    n_servers: int
    n_free: int
    mean_staleness: float
    thread_s: float
    single_s: float
    layers: pd.DataFrame
    period: pd.DataFrame
    bottleneck: str
    elasticities: dict[str, float]
    tenths_lower_s: dict[str, float]
    others: pd.DataFrame
    uniform: pd.DataFrame
    scaling: pd.DataFrame
    what_ifs: pd.DataFrame
    epochs: int
    programmes: int
    states_kept: int
    excluded: int
    gap: float
    in_domain: bool
    uncertainty: PlanUncertainty = UNKNOWN

    def to_frame(self) -> pd.DataFrame:
        """The table of layers."""
        return self.layers


def plan_partition(
    cnn: CnnSpec,
    machine: MachineConstants,
    job: PartitionJob,
    limits: Limits,
    *,
    what_ifs: Sequence[str] = (),
    scaling: Sequence[int] = (),
    price_per_machine_hour: float | None = None,
    budget_s: float | None = None,
    top: int = 1,
) -> PartitionPlan:
    """Find the fastest partition, and say what it rests on.

    Parameters
    ----------
    cnn : CnnSpec
        A chain of convolutions, pools and fully connected layers.
    machine : MachineConstants
        Of every machine of the cluster.
    job : PartitionJob
        Samples, mini-batch of a replica, synchronous or not.
    limits : Limits
        Machines, cores, memory, replicas, window, staleness.
    what_ifs : sequence of str
        Names of `mlperf.planning.partition.what_ifs.WHAT_IFS`.
    scaling : sequence of int
        Numbers of machines of the scaling curve.
    price_per_machine_hour : float, optional
        For the cost of an epoch, in any currency.
    budget_s : float, optional
        Time there is; how many epochs it completes is told.
    top : int
        How many of the best (n, A, S) to work out.

    Raises
    ------
    DataError
        A layer that cannot be partitioned, or limits that nothing meets.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015).
    """
    table, every = layer_table(cnn), equation_constants(machine)
    if limits.cores is not None and limits.cores > every.n_cores:
        got = f"got {limits.cores} cores, expected at most {every.n_cores}: the constants tell no interference of more threads"
        raise DataError(
            got, place=f"constants {machine.name!r}", hint="mlperf collect canonical measures it on a machine with as many."
        )
    constants = with_cores(every, limits.cores or every.n_cores)
    optimum = optimise(table, constants, job, limits, shapes=top)
    best = optimum.best
    times = sample_times(table, constants, best.stripes, best.copies, job.minibatch_size)
    threads = tuple(int(each) for each in times.n_threads)
    weights = elasticities(table, constants, job, best, threads)
    single = [1] * table.n_layers
    scale = job.dataset_size
    return PartitionPlan(
        table.name,
        machine.name,
        machine.source,
        limits.machines,
        job.minibatch_size,
        job.dataset_size,
        job.synchronous,
        best.epoch_s,
        best.period_s,
        best.sample_s,
        best.n_workers,
        best.n_replicas,
        best.n_servers,
        limits.machines - best.n_workers * best.n_replicas - best.n_servers,
        0.0 if job.synchronous else float(overlapped_staleness(best.n_replicas, best.n_servers)),
        scale * sample_times(table, constants, single, single, job.minibatch_size, single).sample_s,
        scale * sample_times(table, constants, single, single, job.minibatch_size).sample_s,
        layer_rows(table, constants, best, times),
        period_rows(table, constants, job, best),
        max(weights, key=lambda name: weights[name]),
        weights,
        tenths_lower_s(table, constants, job, best, threads),
        other_rows(optimum, top),
        uniform_row(table, constants, job, limits, best.epoch_s),
        scaling_rows(table, constants, job, limits, scaling, price_per_machine_hour),
        what_if_table(table, constants, job, limits, best, threads, tuple(what_ifs)),
        -1 if budget_s is None else int(budget_s / best.epoch_s * (1.0 + 1e-12)),
        optimum.programmes,
        optimum.states_kept,
        optimum.excluded,
        optimum.gap,
        machine.source == "measured",
        plan_uncertainty(table, constants, job, limits, best, threads, machine.relative_std_errors),
    )


def held_of(table: LayerTable, constants: Constants, stripes: Sequence[int]) -> list[float]:
    """Bytes that a worker holds of each layer: parameters and outputs of the largest stripe."""
    return [float(working_set_bytes(table, at, np.array(count), constants.value_bytes)) for at, count in enumerate(stripes)]


def layer_rows(table: LayerTable, constants: Constants, plan: Found, times: SampleTimes) -> pd.DataFrame:
    """One row a layer of a plan."""
    stripes, copies = np.array(plan.stripes), np.array(plan.copies)
    held = held_of(table, constants, plan.stripes)
    frame = pd.DataFrame(
        {
            "layer": table.layers,
            "kind": table.kind,
            "stripes": stripes,
            "copies": copies,
            "threads": times.n_threads,
            "in_flight": copies * times.n_threads,
            "activation_bytes": times.activation_values * constants.value_bytes,
            "error_bytes": times.error_values * constants.value_bytes,
            "memory_bytes": held,
        }
    )
    for part in PARTS:
        frame[part] = getattr(times, part)
    return frame.assign(time_s=times.layer_s, share=times.layer_s / times.sample_s)


def period_rows(table: LayerTable, constants: Constants, job: PartitionJob, plan: Found) -> pd.DataFrame:
    """What a replica does in one period, and what goes on beside it: a worker's link, and a server for all replicas."""
    compute_s = job.minibatch_size * plan.sample_s
    parts = {"compute": compute_s, "wait for the exchange": plan.period_s - compute_s, "period": plan.period_s}
    if plan.n_servers:
        byte_s = constants.value_bytes / constants.bandwidth_bytes_per_s
        served = plan.n_replicas * table.all_params / plan.n_servers
        parts["beside: worker's link"] = 2.0 * (float(constants.latency_s[0]) + table.all_params / plan.n_workers * byte_s)
        parts["beside: server's link"] = 2.0 * served * byte_s
        held = shard_bytes(table.all_params, plan.n_servers, constants.value_bytes)
        parts["beside: server's additions"] = served * float(constants.add_of(held))
    return pd.DataFrame({"part": list(parts), "time_s": list(parts.values())})


def other_rows(optimum: Optimum, top: int) -> pd.DataFrame:
    """The best and the next ones, by epoch time."""
    every = (optimum.best, *optimum.others[: top - 1])
    rows = [
        (*(getattr(each, name) for name in SHAPE), each.epoch_s, each.epoch_s / optimum.best.epoch_s, each.gap) for each in every
    ]
    return pd.DataFrame(rows, columns=[*SHAPE, "epoch_s", "times_best", "gap"])


def uniform_row(table: LayerTable, constants: Constants, job: PartitionJob, limits: Limits, best_s: float) -> pd.DataFrame:
    """The best of the plans with the same number of stripes in every layer and no copies; no row where none fits the memory."""
    columns = [*SHAPE, "epoch_s", "times_best"]
    rows = []
    last = 0.0
    allowed = {n: counts for n in worker_counts(limits, every=True) if len(counts := replicas_of(n, job, limits))}
    for n, counts in allowed.items():
        if n > ALL_UNIFORM and n < 1.1 * last and n != max(allowed):
            continue
        last = float(n)
        stripes = [min(n, int(rows_)) for rows_ in table.rows]
        if sum(held_of(table, constants, stripes)) > limits.memory_bytes:
            continue
        tau = sample_times(table, constants, stripes, [1] * table.n_layers, job.minibatch_size).sample_s
        servers = np.where(counts == 1, 0, limits.machines - counts * n)
        exchange = server_exchange(table.all_params, n, counts, servers, constants)
        period = exchange.period_s(np.asarray(job.minibatch_size * tau), synchronous=job.synchronous)
        epochs = epoch_s(period, counts.astype(np.float64), job.minibatch_size, job.dataset_size)
        at = int(np.argmin(epochs))
        rows.append((n, int(counts[at]), int(servers[at]), float(epochs[at]), float(epochs[at]) / best_s))
    return pd.DataFrame(rows, columns=columns).nsmallest(1, "epoch_s").reset_index(drop=True)


def scaling_rows(
    table: LayerTable,
    constants: Constants,
    job: PartitionJob,
    limits: Limits,
    machines: Sequence[int],
    price_per_machine_hour: float | None,
) -> pd.DataFrame:
    """The best epoch on each number of machines, NaN where none is possible; speed-up and efficiency over one machine."""
    columns = ["machines", *SHAPE, "epoch_s", "speedup", "efficiency", "machine_hours", "gap"]
    if not machines:
        return pd.DataFrame(columns=columns)
    one = [1] * table.n_layers
    single = job.dataset_size * sample_times(table, constants, one, one, job.minibatch_size).sample_s
    rows = []
    for count in sorted(set(machines)):
        try:
            optimum = optimise(table, constants, job, replace(limits, machines=count))
        except DataError:
            # So few machines cannot hold the network, or cannot meet the window: the row says so by having no time.
            rows.append((count, 0, 0, 0, *[float("nan")] * 5))
            continue
        best = optimum.best
        speedup = single / best.epoch_s
        used = best.n_workers * best.n_replicas + best.n_servers
        shape = (best.n_workers, best.n_replicas, best.n_servers)
        rows.append((count, *shape, best.epoch_s, speedup, speedup / count, used * best.epoch_s / 3600.0, optimum.gap))
    frame = pd.DataFrame(rows, columns=columns)
    return frame if price_per_machine_hour is None else frame.assign(cost=frame["machine_hours"] * price_per_machine_hour)
