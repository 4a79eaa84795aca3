"""One rank of the trainer: ``python -m mlperf.collect.trainer.rank.rank FOLDER`` under mpiexec reads job.json, writes records."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.engine import training_step
from mlperf.collect.trainer.exchange import Exchange
from mlperf.collect.trainer.job import Job, read_job
from mlperf.collect.trainer.launch import as_rank
from mlperf.collect.trainer.ledger import GPU_RECORD, UPDATE_RECORD, USE_RECORD, Ledger
from mlperf.collect.trainer.node import Node, new_node
from mlperf.collect.trainer.operations import (
    Pictures,
    UpdateVectors,
    gpu_operations,
    share_of,
    update_operations,
    with_waits,
)
from mlperf.collect.trainer.rank.marks import GpuMarks
from mlperf.collect.trainer.rank.pace import FreePace, Lockstep, Pace
from mlperf.collect.trainer.rank.updater import Updater
from mlperf.collect.trainer.rank.worker import Worker
from mlperf.collect.trainer.replica import Replica, blank_replica, step_replica
from mlperf.collect.trainer.waits import Sleeper, Wait, usual_overshoot_s
from mlperf.core.files import write_text_whole

SWITCH_S = 5e-4
"""Python's threads hand over this often: the usual 5 ms would be the longest wait of all for small networks."""


@dataclass(slots=True, eq=False)
class Crew:
    """Threads of one rank and what they need.

    Attributes
    ----------
    workers : list of Worker
        Algorithm 1, in order.
    sleepers : list of Sleeper
        Of every worker, and last of the update thread.
    snapshots : list of (int, int, array)
        Updates, samples and weights at the end of each epoch; kept by the first rank where gradients are real.
    """

    workers: list[Worker] = field(default_factory=list)
    sleepers: list[Sleeper] = field(default_factory=list)
    pictures: list[Pictures] = field(default_factory=list)
    snapshots: list[tuple[int, int, Array]] = field(default_factory=list)


def main(folder: Path) -> None:
    """Run this rank; where it fails, say why in a file and end all ranks."""
    sys.setswitchinterval(SWITCH_S)
    with as_rank(folder, threads=True) as comm:
        run_rank(read_job(folder), folder, comm)


def run_rank(job: Job, folder: Path, comm: Any) -> None:
    """Start the workers, update until the end, write what is left."""
    rank = comm.Get_rank()
    replicas, pictures = replicas_of(job, folder, rank)
    node = new_node(replicas[0].weights(), job.n_gpus_per_node, replicas[0].update.size, job.delay)
    pace: Pace = Lockstep(node) if job.lockstep else FreePace()
    exchange = Exchange(comm, job.limit_s, node.watch)
    crew = Crew(pictures=pictures)
    correction_s = usual_overshoot_s() if job.waits else 0.0
    for gpu, replica in enumerate(replicas):
        own = pictures[gpu] if pictures else None
        operations = gpu_operations(own, replica, node, node.buffers[gpu], job.learning_rate)
        waits = make_waits(job, rank, gpu, correction_s, crew)
        ledger = Ledger(folder / f"gpu-{rank}-{gpu}.bin", GPU_RECORD)
        worker = Worker(node, node.buffers[gpu], with_waits(operations, waits), pace, ledger, marks=GpuMarks(gpu))
        crew.workers.append(worker)
    updater = make_updater(job, folder, rank, node, exchange, pace, crew, correction_s)
    exchange.meet()
    try:
        train(node, pace, crew, updater)
    finally:
        updater.updates.close()
        updater.uses.close()
    write_end(folder, rank, node, crew)
    exchange.meet()


def replicas_of(job: Job, folder: Path, rank: int) -> tuple[list[Replica], list[Pictures]]:
    """A replica of the weights for each worker, all alike on all nodes, and its images where gradients are real."""
    if job.shards:
        steps = [training_step(job.network, job.subbatch_size, seed=job.seed) for _ in range(job.n_gpus_per_node)]
        return [step_replica(step) for step in steps], [
            Pictures(job, folder / job.shards, rank, gpu, step) for gpu, step in enumerate(steps)
        ]
    n_params = 1 if "update_weights" in job.waits else job.network.n_params
    return [blank_replica(n_params) for _ in range(job.n_gpus_per_node)], []


def make_waits(job: Job, rank: int, thread: int, correction_s: float, crew: Crew) -> dict[str, Wait]:
    """Waits of one thread by component, with its own draws."""
    sleeper, rng = Sleeper(correction_s), np.random.default_rng((job.seed, rank, thread))
    crew.sleepers.append(sleeper)
    return {name: Wait(rounds_s, rng, sleeper) for name, rounds_s in job.waits.items()}


def make_updater(
    job: Job, folder: Path, rank: int, node: Node, exchange: Exchange, pace: Pace, crew: Crew, correction_s: float
) -> Updater:
    """The update thread's part of the rank."""
    vectors = UpdateVectors(node, share_of(node.latest.size, job.n_nodes, rank), job.momentum)
    waits = make_waits(job, rank, job.n_gpus_per_node, correction_s, crew)
    operations = with_waits(update_operations(vectors, exchange), waits)
    updates = Ledger(folder / f"update-{rank}.bin", UPDATE_RECORD)
    uses = Ledger(folder / f"use-{rank}.bin", USE_RECORD)
    keep = partial(keep_weights, node, crew) if job.shards and rank == 0 else lambda _: None
    return Updater(job, node, operations, exchange, pace, updates, uses, keep)


def keep_weights(node: Node, crew: Crew, n_samples: int) -> None:
    """Copy the weights at the end of an epoch; their accuracy is found out after the run."""
    crew.snapshots.append((node.version, n_samples, node.latest.copy()))


def train(node: Node, pace: Pace, crew: Crew, updater: Updater) -> None:
    """Workers in threads of their own, updates in this one; raises what ended a worker early."""
    threads = [Thread(target=worker.run, daemon=True) for worker in crew.workers]
    for thread in threads:
        thread.start()
    try:
        updater.run()
    finally:
        node.stop.set()
        pace.announce()
        for thread in threads:
            thread.join()
    node.watch()


def write_end(folder: Path, rank: int, node: Node, crew: Crew) -> None:
    """What is left in the buffers, how exact the waits were, and the first rank's weights."""
    end = {
        "n_computed": [worker.iteration for worker in crew.workers],
        "n_left": [len(buffer.pending) for buffer in node.buffers],
        "overshoots_s": [sleeper.overshoots_s for sleeper in crew.sleepers],
    }
    if rank == 0 and crew.pictures:
        kept = crew.snapshots
        np.savez(
            folder / "weights.npz",
            final=node.latest,
            updates=np.array([each[0] for each in kept], dtype=np.int64),
            samples=np.array([each[1] for each in kept], dtype=np.int64),
            epochs=np.array([each[2] for each in kept], dtype=np.float32).reshape(len(kept), node.latest.size),
        )
    for pictures in crew.pictures:
        pictures.close()
    write_text_whole(folder / f"rank-{rank}.end", json.dumps(end))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
