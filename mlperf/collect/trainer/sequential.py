"""The run once more, one gradient after the other: what the record says happened must give the weights that came out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.engine import training_step
from mlperf.collect.trainer.job import Job
from mlperf.collect.trainer.operations import Pictures, share_of
from mlperf.collect.trainer.records import Records
from mlperf.collect.trainer.replica import Replica, step_replica
from mlperf.core.errors import DataError
from mlperf.core.threads import one_blas_thread


def replay(job: Job, records: Records, folder: Path) -> Array:
    """Final weights by a sequential program that shares no thread, lock or message with the trainer.

    Parameters
    ----------
    job : Job
        The run; its images must still be there.
    records : Records
        Which gradient read which version, and which update used it.
    folder : Path
        The run's.

    Returns
    -------
    array, shape (n_params,)

    Raises
    ------
    DataError
        Gradients were waited for: there is nothing to compute again.
    """
    if not job.shards:
        raise DataError("got a run whose gradients were waited for, expected real gradients", place="replay")
    # The ranks had one BLAS thread each: another number adds in another order.
    with one_blas_thread():
        return repeated(job, records, folder)


def repeated(job: Job, records: Records, folder: Path) -> Array:
    """Every update of the record in turn; the last weights."""
    n_updates = int(records.updates.loc[records.updates["node"] == 0, "update"].max()) + 1
    weights: Array = np.zeros(0, dtype=np.float32)
    for each in states(job, records.uses, n_updates, folder):
        weights = each.weights
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """After one update: the weights, shape (n_params,), and the loss of each gradient that it used."""

    weights: Array
    losses: list[float]


def states(job: Job, uses: pd.DataFrame, n_updates: int, folder: Path) -> Iterator[State]:
    """Carry out updates one after the other, on images of the run's own folder.

    Parameters
    ----------
    job : Job
        The run.
    uses : DataFrame
        ``node, gpu, iteration, version, update`` of every gradient that some update uses.
    n_updates : int
        From 0; those without a gradient carry the momentum on.
    folder : Path
        The run's.
    """
    step = training_step(job.network, job.subbatch_size, seed=job.seed)
    replica = step_replica(step)
    workers = product(range(job.n_nodes), range(job.n_gpus_per_node))
    sources = {(node, gpu): Pictures(job, folder / job.shards, node, gpu, step) for node, gpu in workers}
    versions = {0: replica.weights()}
    delta: Array = np.zeros_like(versions[0])
    uses = uses.sort_values(["update", "node", "gpu", "iteration"])
    # A version is kept until the last update that uses a gradient computed from it.
    last_needed = uses.groupby("version")["update"].max().to_dict()
    by_update = dict(iter(uses.groupby("update")))
    try:
        for update in range(n_updates):
            old, losses = versions[update], list[float]()
            values = update_values(job, by_update.get(update), versions, replica, sources, losses)
            new = versions[update + 1] = exchanged(job, values, old, delta)
            np.subtract(new, old, out=delta)
            for version in [number for number in versions if number <= update and last_needed.get(number, -1) <= update]:
                del versions[version]
            yield State(new, losses)
    finally:
        for pictures in sources.values():
            pictures.close()


def update_values(
    job: Job,
    used: pd.DataFrame | None,
    versions: dict[int, Array],
    replica: Replica,
    sources: dict[tuple[int, int], Pictures],
    losses: list[float],
) -> list[Array]:
    """Sum of the update values of each node, in the order in which buffers were filled and added; appends to ``losses``."""
    sums = [np.zeros(replica.update.size, dtype=np.float32) for _ in range(job.n_nodes)]
    if used is None:
        return sums
    workers: list[tuple[int, int]] = list(dict.fromkeys(used[["node", "gpu"]].itertuples(index=False, name=None)))
    for node, gpu in workers:
        part = used[(used["node"] == node) & (used["gpu"] == gpu)]
        buffer = np.zeros_like(sums[node])
        for iteration, version in part[["iteration", "version"]].itertuples(index=False):
            replica.fetch(versions[version])
            sources[node, gpu].load(iteration)
            sources[node, gpu].deform()
            losses.append(sources[node, gpu].compute())
            replica.compute_update_value(job.learning_rate)
            buffer += replica.update
        sums[node] += buffer
    return sums


def exchanged(job: Job, values: list[Array], old: Array, delta: Array) -> Array:
    """New weights: each node adds old weights and momentum to its share, then all are summed."""
    total = np.zeros_like(old)
    for node, value in enumerate(values):
        share = share_of(old.size, job.n_nodes, node)
        value[share] += np.float32(job.momentum) * delta[share] + old[share]
        total += value
    return total
