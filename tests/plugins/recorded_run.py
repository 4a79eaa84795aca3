"""Records of a run whose every duration is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.trainer.job import Job, write_job
from mlperf.collect.trainer.ledger import GPU_TIMES, UPDATE_TIMES
from mlperf.datasets.campaigns.write import write_csv

N_NODES, N_GPUS, N_ITERATIONS = 2, 3, 5
GAP_S = 1e-4
Folder = Callable[..., Path]


def iterations(times: tuple[str, ...], start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Iterations one after the other, a little time between them; the first part of every second one takes none."""
    seconds = rng.uniform(0.001, 0.02, (N_ITERATIONS, len(times)))
    seconds[::2, 0] = 0.0
    starts = start_s + np.concatenate([[0.0], np.cumsum(seconds.sum(axis=1) + GAP_S)[:-1]])
    return pd.DataFrame(seconds, columns=list(times)).assign(start_s=starts)


@pytest.fixture
def run_folder(tmp_path: Path) -> Folder:
    """``run_folder(ahead_s)``: ``asgd/run-0001`` of a campaign; the clock of node 1 is that much ahead."""
    return lambda ahead_s=0.0: write_run(tmp_path, ahead_s)


def write_run(above: Path, ahead_s: float = 0.0) -> Path:
    """``campaign/asgd/run-0001`` in a folder; the clock of node 1 is that much ahead."""
    folder = above / "campaign" / "asgd" / "run-0001"
    rng = np.random.default_rng(3)
    gpu, updates = [], []
    for node in range(N_NODES):
        clock_s = 500.0 + node * ahead_s
        for thread in range(N_GPUS):
            table = iterations(GPU_TIMES, clock_s + 0.001 * thread, rng)
            gpu.append(table.assign(node=node, gpu=thread, iteration=range(N_ITERATIONS), version=0, update=range(1, 6)))
        updates.append(iterations(UPDATE_TIMES, clock_s, np.random.default_rng(4)).assign(node=node, update=range(N_ITERATIONS)))
    update = pd.concat(updates).assign(iteration_s=0.1)
    write_csv(pd.concat(gpu), folder / "gpu.csv.gz")
    write_csv(update, folder / "updates.csv.gz")
    (folder / "end.json").write_text(json.dumps([]), encoding="utf-8")
    write_job(job(), folder)
    return folder


def job() -> Job:
    """A job that waits for its gradients."""
    return Job(
        cnn={},
        n_nodes=N_NODES,
        n_gpus_per_node=N_GPUS,
        subbatch_size=4,
        seed=0,
        learning_rate=0.1,
        momentum=0.9,
        max_updates=5,
        max_samples=0,
        dataset_size=100,
        shift=0.0,
        scale=0.0,
        lockstep=False,
        waits={"compute_gradient": [0.01]},
        shards="",
        limit_s=10.0,
    )
