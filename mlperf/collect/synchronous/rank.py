"""One process: ``python -m mlperf.collect.synchronous.rank FOLDER`` under mpiexec reads job.json and trains."""

from __future__ import annotations

import sys
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.collect.synchronous.batches import rows_of_step
from mlperf.collect.synchronous.exchange import Exchange, GlooExchange, MpiExchange
from mlperf.collect.synchronous.job import DdpJob, read_job, wait_key
from mlperf.collect.synchronous.steps import isolated_exchange, train_steps
from mlperf.collect.synchronous.waited import WaitedWork
from mlperf.collect.synchronous.work import NumpyWork, Work
from mlperf.collect.trainer.launch import as_rank
from mlperf.collect.trainer.waits import Sleeper, usual_overshoot_s
from mlperf.core.errors import InterruptedRun
from mlperf.core.files import replacing
from mlperf.core.threads import one_blas_thread
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import cnn_from_dict

TORCH = "torch+gloo"


def main(folder: Path) -> None:
    """Run this process; where it fails, say why in a file and end all."""
    with as_rank(folder) as comm, one_blas_thread():
        run_rank(read_job(folder), folder, comm)


def run_rank(job: DdpJob, folder: Path, comm: Any) -> None:
    """The isolated exchange, then every setting; the first process writes what all have timed."""
    rank = comm.Get_rank()
    exchange: Exchange = (
        GlooExchange(folder, rank, job.n_processes, job.limit_s)
        if job.engine == TORCH
        else MpiExchange(comm, yields=job.yields, limit_s=job.limit_s)
    )
    if job.n_processes > 1:
        for size in job.exchange_bytes:
            times_s = exchange.gather(isolated_exchange(exchange, size, computes=not job.emulated))
            if times_s is not None:
                store(folder / f"exchange-{size}.npz", times_s=times_s)
    cnns = {name: cnn_from_dict(table) for name, table in job.cnns.items()}
    correction_s = usual_overshoot_s() if job.emulated else 0.0
    for name, subbatch_size in job.settings:
        run_setting(job, cnns[name], subbatch_size, exchange, rank, folder, Sleeper(correction_s))
    exchange.meet()


def run_setting(
    job: DdpJob, cnn: CnnSpec, subbatch_size: int, exchange: Exchange, rank: int, folder: Path, sleeper: Sleeper
) -> None:
    """One setting: a replica, its steps, its record."""
    with np.load(folder.parent / f"samples-{cnn.name}.npz") as stored:
        images, labels = stored["images"], stored["labels"]
    work = work_of(job, cnn, subbatch_size, images, labels, rank, sleeper)
    rows = partial(
        rows_of_step,
        rank=rank,
        n_processes=job.n_processes,
        subbatch_size=subbatch_size,
        dataset_size=len(labels),
        seed=job.seed,
    )
    timed = train_steps(work, exchange, rows, job.n_processes, job.run_s)
    overshoot_s = float(np.median(sleeper.overshoots_s)) if sleeper.overshoots_s else 0.0
    marks = exchange.gather(timed.marks_s)
    ends = exchange.gather(np.array([timed.loss, overshoot_s]))
    sums = exchange.gather(np.array([zlib.crc32(work.weights().tobytes())], dtype=np.float64))
    if marks is not None and ends is not None and sums is not None:
        if np.ptp(sums) > 0.0:
            raise InterruptedRun(f"{cnn.name}, sub-batch {subbatch_size}: replicas have different weights", place="all-reduce")
        store(folder / f"run-{cnn.name}-{subbatch_size}.npz", marks_s=marks, loss=ends[:, 0], overshoot_s=ends[:, 1])


def work_of(job: DdpJob, cnn: CnnSpec, subbatch_size: int, images: Any, labels: Any, rank: int, sleeper: Sleeper) -> Work:
    """What this process computes with, or waits with."""
    rounds = job.waits.get(wait_key(cnn.name, subbatch_size))
    if rounds is not None:
        return WaitedWork(rounds, cnn.n_params, np.random.default_rng((job.seed, job.repeat, rank)), sleeper)
    rates = {"learning_rate": job.learning_rate, "momentum": job.momentum}
    if job.engine == TORCH:
        from mlperf.collect.synchronous.torch_work import TorchWork

        return TorchWork(cnn, images, labels, subbatch_size, seed=job.seed, **rates)
    return NumpyWork(cnn, images, labels, subbatch_size, seed=job.seed, **rates)


def store(path: Path, **arrays: Any) -> None:
    """Write arrays whole or not at all."""
    with replacing(path) as stream:
        np.savez(stream, **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
