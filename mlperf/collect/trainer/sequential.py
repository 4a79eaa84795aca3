"""The run once more, one gradient after the other: what the record says happened must give the weights that came out."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.engine import TrainingStep, training_step
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
    """Every update of the record in turn."""
    step = training_step(job.network, job.subbatch_size, seed=job.seed)
    replica = step_replica(step)
    workers = product(range(job.n_nodes), range(job.n_gpus_per_node))
    sources = {(node, gpu): Pictures(job, folder / job.shards, node, gpu, step) for node, gpu in workers}
    versions = {0: replica.weights()}
    delta: Array = np.zeros_like(versions[0])
    uses = records.uses.sort_values(["update", "node", "gpu", "iteration"])
    last_needed = uses.groupby("version")["update"].max()
    by_update = dict(iter(uses.groupby("update")))
    n_updates = int(records.updates.loc[records.updates["node"] == 0, "update"].max()) + 1
    for update in range(n_updates):
        old = versions[update]
        values = update_values(job, by_update.get(update), versions, step, replica, sources)
        versions[update + 1] = exchanged(job, values, old, delta)
        np.subtract(versions[update + 1], old, out=delta)
        for version in [number for number in versions if number < update and last_needed.get(number, -1) <= update]:
            del versions[version]
    for pictures in sources.values():
        pictures.close()
    return versions[n_updates]


def update_values(
    job: Job,
    used: pd.DataFrame | None,
    versions: dict[int, Array],
    step: TrainingStep,
    replica: Replica,
    sources: dict[tuple[int, int], Pictures],
) -> list[Array]:
    """Sum of the update values of each node, in the order in which buffers were filled and added."""
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
            step.run()
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
