"""One rank: ``python -m mlperf.collect.servers.rank FOLDER`` under mpiexec runs all runs of job.json, as worker, server or idle."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.collect.canonical.loops import Floats
from mlperf.collect.servers.configuration import SYNCHRONOUS
from mlperf.collect.servers.exchange import Exchange
from mlperf.collect.servers.job import DATA, Run, read_job
from mlperf.collect.servers.layout import Layout, common, shards
from mlperf.collect.servers.net import net_of
from mlperf.collect.servers.segments import segments_of, warm
from mlperf.collect.servers.server import Server
from mlperf.collect.servers.wire import Link, Wire
from mlperf.collect.servers.worker import Draw, Worker
from mlperf.collect.trainer.launch import as_rank
from mlperf.collect.trainer.waits import Sleeper, usual_overshoot_s
from mlperf.core.files import replacing, write_text_whole
from mlperf.core.threads import one_blas_thread

IDLE_S = 0.01


def main(folder: Path) -> None:
    """Run this rank; where it fails, say why in a file and end all ranks."""
    with as_rank(folder, threads=True) as comm:
        run_all(folder, comm)


def run_all(folder: Path, comm: Any) -> None:
    """Every run by as many of the first ranks as it has; the others sleep until it is over."""
    runs, rank = read_job(folder), comm.Get_rank()
    with np.load(folder / DATA) as stored:
        images, labels = stored["images"], stored["labels"]
    parts = {}
    for count in sorted({run.configuration.n_ranks for run in runs}):
        parts[count] = comm.Split(0 if rank < count else 1, rank)
    sleeper = Sleeper(usual_overshoot_s())
    for run in runs:
        if rank < run.configuration.n_ranks:
            with one_blas_thread():
                run_one(run, folder, parts[run.configuration.n_ranks], sleeper, images, labels)
        request = comm.Ibarrier()
        while not request.Test():
            time.sleep(IDLE_S)


def run_one(run: Run, folder: Path, comm: Any, sleeper: Sleeper, images: Floats, labels: Any) -> None:
    """Take part in one run, and write the records."""
    sleeper.overshoots_s.clear()
    wire = Wire(comm, run.limit_s)
    link = Link(*run.link) if run.link else None
    configuration = run.configuration
    layout = Layout(net_of(run.network), configuration.plan)
    first_server = configuration.n_replicas * layout.n_workers
    if comm.Get_rank() >= first_server:
        server = make_server(run, layout, comm.Get_rank() - first_server, wire, link, sleeper)
        wire.meet()
        server.run()
        wire.flush()
        save(folder, run, f"server-{comm.Get_rank() - first_server}", server.weights)
        told: dict[str, Any] = {"n_applied": server.n_applied, "staleness": server.staleness}
    else:
        worker = make_worker(run, layout, comm.Get_rank(), wire, link, sleeper)
        train(run, worker, images, labels)
        replica = comm.Get_rank() // layout.n_workers
        if replica == 0:
            for segment in worker.segments:
                if segment is not None and segment.weights.size:
                    save(folder, run, f"worker-{worker.worker}-{segment.number}", segment.weights)
        n_pushed = worker.exchange.n_pushed if worker.exchange else 0
        told = {"replica": replica, "worker": worker.worker, "ends_s": worker.ends_s, "n_pushed": n_pushed}
    waited = {"overshoots_s": sleeper.overshoots_s}
    write_text_whole(folder / f"{run.stem}-rank-{comm.Get_rank()}.json", json.dumps({**told, **waited}))


def train(run: Run, worker: Worker, images: Floats, labels: Any) -> None:
    """All mini-batches of one worker; every worker of a replica draws the same samples."""
    replica = worker.first_rank // worker.layout.n_workers
    rng = np.random.default_rng((run.seed, replica))
    targets = np.eye(worker.layout.net.layers[-1].rows, dtype=np.float32)
    warm(worker.segments)
    worker.wire.meet()
    worker.ends_s.append(time.perf_counter())
    for _ in range(run.n_minibatches):
        chosen = rng.integers(0, len(labels), run.configuration.minibatch_size)
        worker.train(images[chosen], targets[labels[chosen]])
    worker.finish()
    if worker.pool:
        worker.pool.shutdown()


def make_worker(run: Run, layout: Layout, rank: int, wire: Wire, link: Link | None, sleeper: Sleeper) -> Worker:
    """A worker with its segments and its link to the servers."""
    configuration, n_workers = run.configuration, layout.n_workers
    replica, number = divmod(rank, n_workers)
    weights = layout.net.first_weights(run.seed)
    exchange = None
    if configuration.n_servers:
        parts = shards(layout.net.n_params, configuration.n_servers)
        exchange = Exchange(wire, layout.owned(number), parts, configuration.n_replicas * n_workers, link, sleeper)
    n_threads = max(plan.n_threads for plan in configuration.plan)
    return Worker(
        layout=layout,
        worker=number,
        first_rank=replica * n_workers,
        segments=segments_of(layout, number, weights, run.code),
        wire=wire,
        link=link,
        draw=drawer(run, rank),
        sleeper=sleeper,
        minibatch_size=configuration.minibatch_size,
        rate=run.learning_rate / configuration.minibatch_size,
        exchange=exchange,
        synchronous=configuration.exchange == SYNCHRONOUS,
        pool=None if run.waits or n_threads == 1 else ThreadPoolExecutor(n_threads),
    )


def make_server(run: Run, layout: Layout, number: int, wire: Wire, link: Link | None, sleeper: Sleeper) -> Server:
    """A server with its shard."""
    configuration = run.configuration
    synchronous = configuration.exchange == SYNCHRONOUS
    shard = shards(layout.net.n_params, configuration.n_servers)[number]
    parts = {worker: common(layout.owned(worker), shard) for worker in range(layout.n_workers)}
    add = run.waits.get("add")
    rng = np.random.default_rng((run.seed, 1, number))
    n_shares = configuration.n_replicas if synchronous else 1
    return Server(
        wire=wire,
        shard=shard,
        weights=layout.net.first_weights(run.seed)[shard[0] : shard[1]].copy(),
        parts={worker: spans for worker, spans in parts.items() if spans},
        n_workers=layout.n_workers,
        n_replicas=configuration.n_replicas,
        synchronous=synchronous,
        rate=run.learning_rate / (configuration.minibatch_size * n_shares),
        link=link,
        sleeper=sleeper,
        add_s=None if add is None else lambda n_values: n_values * float(add[rng.integers(len(add))]),
        limit_s=run.limit_s,
    )


def drawer(run: Run, rank: int) -> Draw | None:
    """Draws a measured time of a pass; None where nothing is waited for."""
    if not run.waits:
        return None
    rng, waits = np.random.default_rng((run.seed, 2, rank)), run.waits

    def draw(layer: int, direction: str) -> float:
        rounds = waits[f"{layer} {direction}"]
        return rounds[rng.integers(len(rounds))]

    return draw


def save(folder: Path, run: Run, name: str, values: Floats) -> None:
    """Keep an array of a run."""
    with replacing(folder / f"{run.stem}-{name}.npy") as stream:
        np.save(stream, values)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
