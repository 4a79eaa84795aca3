"""A lone worker without messages: what it learns is the replay, and waits are what it takes."""

from __future__ import annotations

import time

import numpy as np

from mlperf.collect.servers.layout import Layout
from mlperf.collect.servers.learning import replay
from mlperf.collect.servers.net import Net
from mlperf.collect.servers.segments import segments_of
from mlperf.collect.servers.worker import Draw, Worker
from mlperf.collect.trainer.waits import Sleeper
from mlperf.systems.model_parallel.plans import LayerPlan


def lone_worker(net: Net, draw: Draw | None = None) -> Worker:
    layout = Layout(net, tuple(LayerPlan(1, 1, 2) for _ in net.layers))
    segments = segments_of(layout, 0, net.first_weights(4), "blas")
    return Worker(layout, 0, 0, segments, None, None, draw, Sleeper(0.0), 4, 0.1 / 4, None, False, None)  # type: ignore[arg-type]


def batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((4, 8, 8)).astype(np.float32), np.eye(10, dtype=np.float32)[rng.integers(0, 10, 4)]


def test_two_threads_learn_what_one_sample_after_the_other_learns(conv: Net) -> None:
    worker, batches = lone_worker(conv), [batch(), batch()]
    for images, targets in batches:
        worker.train(images, targets)
    found = np.concatenate([segment.weights for segment in worker.segments if segment is not None])
    assert np.allclose(found, replay(conv, "blas", 4, batches, 0.1), atol=1e-6)
    assert len(worker.ends_s) == 2


def test_waves_wait_for_their_slowest_thread(dense: Net) -> None:
    asked: list[tuple[int, str]] = []

    def draw(layer: int, direction: str) -> float:
        asked.append((layer, direction))
        return 0.01

    worker = lone_worker(dense, draw)
    begun_s = time.perf_counter()
    worker.train(*batch())
    # Two waves of two threads: forward of two layers, update and error of two, the product of the second.
    assert 0.95 < (time.perf_counter() - begun_s) / (2 * 0.01 * (2 + 4 + 1)) < 3.0
    assert (0, "product") not in asked
    assert len(asked) == 2 * 2 * 7
