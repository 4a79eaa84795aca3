"""Algorithms 1 and 2 line by line, in this process: what is copied, added and locked, and when."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest

from mlperf.collect.trainer.ledger import GPU_RECORD, UPDATE_RECORD, USE_RECORD, Ledger, read_ledger
from mlperf.collect.trainer.node import Node, new_node
from mlperf.collect.trainer.operations import UpdateVectors, gpu_operations, update_operations
from mlperf.collect.trainer.rank.pace import FreePace
from mlperf.collect.trainer.rank.updater import Updater
from mlperf.collect.trainer.rank.worker import Worker
from mlperf.collect.trainer.replica import Replica

N_PARAMS = 6
HOLD_S = 0.1


class Alone:
    """One node's exchange with nobody."""

    def count(self, n_gradients: int, *, stop: bool) -> tuple[int, bool]:
        return n_gradients, stop

    def sum(self, send: Any, received: Any) -> None:
        received[:] = send


class Settings:
    """The parts of a job that the update thread looks at."""

    max_updates, max_samples, subbatch_size, dataset_size = 0, 8, 4, 8


def make_worker(node: Node, folder: Path, gpu: int = 0) -> tuple[Worker, Replica]:
    replica = Replica([np.zeros(N_PARAMS, np.float32)], [np.full(N_PARAMS, gpu + 1.0, np.float32)])
    operations = gpu_operations(None, replica, node, node.buffers[gpu], learning_rate=0.5)
    return Worker(node, node.buffers[gpu], operations, FreePace(), Ledger(folder / f"gpu-{gpu}.bin", GPU_RECORD)), replica


def make_updater(node: Node, folder: Path, momentum: float = 0.5, ends: Callable[[int], None] = lambda _: None) -> Updater:
    vectors = UpdateVectors(node, slice(0, N_PARAMS), momentum)
    exchange: Any = Alone()
    ledgers = Ledger(folder / "update.bin", UPDATE_RECORD), Ledger(folder / "use.bin", USE_RECORD)
    settings: Any = Settings()
    return Updater(settings, node, update_operations(vectors, exchange), exchange, FreePace(), *ledgers, ends)


def test_weights_are_copied_only_when_they_are_newer(tmp_path: Path) -> None:
    node = new_node(np.zeros(N_PARAMS, np.float32), 1, N_PARAMS)
    worker, replica = make_worker(node, tmp_path)
    node.latest[:] = 7.0
    worker.iterate()
    assert (replica.weights() == 0).all()
    node.version = 1
    worker.iterate()
    assert (replica.weights() == 7).all()
    worker.ledger.close()
    record = read_ledger(tmp_path / "gpu-0.bin", GPU_RECORD)
    assert record["fetched"].tolist() == [0, 1]
    assert record["version"].tolist() == [0, 1]


def test_a_buffer_is_overwritten_after_use_and_added_to_before(tmp_path: Path) -> None:
    node = new_node(np.zeros(N_PARAMS, np.float32), 1, N_PARAMS)
    worker, _ = make_worker(node, tmp_path)
    node.buffers[0].values[:] = 99.0
    worker.iterate()
    assert (node.buffers[0].values == -0.5).all()
    worker.iterate()
    assert (node.buffers[0].values == -1.0).all()
    assert node.buffers[0].pending == [(0, 0), (1, 0)]


def test_updates_add_fresh_buffers_and_momentum(tmp_path: Path) -> None:
    """By hand: gradients -0.5 and -1 of two workers, then nothing: 1 -> -0.5 -> -1.25 with nu = 0.5; samples end the run."""
    node = new_node(np.ones(N_PARAMS, np.float32), 2, N_PARAMS)
    workers = [make_worker(node, tmp_path, gpu)[0] for gpu in range(2)]
    ends: list[int] = []
    updater = make_updater(node, tmp_path, ends=ends.append)
    for worker in workers:
        worker.iterate()
    assert updater.update() is False
    assert node.latest == pytest.approx(np.full(N_PARAMS, -0.5))
    assert (node.version, updater.n_samples, ends) == (1, 8, [8])
    assert updater.update() is True
    assert node.latest == pytest.approx(np.full(N_PARAMS, -1.25))
    updater.updates.close()
    updater.uses.close()
    assert read_ledger(tmp_path / "update.bin", UPDATE_RECORD)["n_buffers_added"].tolist() == [2, 0]
    assert read_ledger(tmp_path / "use.bin", USE_RECORD).tolist() == [(0, 0, 0, 0), (1, 0, 0, 0)]


def test_a_stale_first_buffer_clears_what_is_sent(tmp_path: Path) -> None:
    node = new_node(np.zeros(N_PARAMS, np.float32), 2, N_PARAMS)
    workers = [make_worker(node, tmp_path, gpu)[0] for gpu in range(2)]
    updater = make_updater(node, tmp_path, momentum=0.0)
    workers[0].iterate()
    updater.update()
    workers[1].iterate()
    updater.update()
    assert node.latest == pytest.approx(np.full(N_PARAMS, -1.5))


@pytest.mark.parametrize(("lock", "column"), [("weights", "lock_weights_gpu_s"), ("gradient", "lock_gradient_gpu_s")])
def test_a_held_mutex_makes_the_worker_wait_and_is_measured(lock: str, column: str, tmp_path: Path) -> None:
    node = new_node(np.zeros(N_PARAMS, np.float32), 1, N_PARAMS)
    worker, _ = make_worker(node, tmp_path)
    mutex = {"weights": node.weights_lock, "gradient": node.buffers[0].lock}[lock]
    mutex.acquire()
    Timer(HOLD_S, mutex.release).start()
    start_s = time.perf_counter()
    worker.iterate()
    worker.ledger.close()
    waited_s = read_ledger(tmp_path / "gpu-0.bin", GPU_RECORD)[column][0]
    assert 0.5 * HOLD_S < waited_s <= time.perf_counter() - start_s
