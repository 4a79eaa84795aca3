"""The clockless training against finite differences, and the one sample after the other against all at once."""

from __future__ import annotations

import numpy as np

from mlperf.collect.servers.configuration import configuration_from
from mlperf.collect.servers.learning import accuracy, forward_all, go_on, gradient_all, replay
from mlperf.collect.servers.net import Net

RNG = np.random.default_rng(3)


def batch(size: int) -> tuple[np.ndarray, np.ndarray]:
    images = RNG.random((size, 8, 8)).astype(np.float32)
    return images, np.eye(10, dtype=np.float32)[RNG.integers(0, 10, size)]


def test_the_gradient_is_the_slope_of_the_squared_error(conv: Net) -> None:
    images, targets = batch(3)
    weights = conv.first_weights(0).astype(np.float64)

    def error(values: np.ndarray) -> float:
        return 0.5 * float(((targets - forward_all(conv, values, images.astype(np.float64))[-1]) ** 2).sum())

    found = gradient_all(conv, weights, images.astype(np.float64), targets)
    for place in RNG.choice(conv.n_params, 40, replace=False):
        step = np.zeros_like(weights)
        step[place] = 1e-6
        assert np.isclose(-found[place], (error(weights + step) - error(weights - step)) / 2e-6, atol=2e-6)


def test_one_sample_after_the_other_is_all_at_once(conv: Net) -> None:
    batches = [batch(6) for _ in range(5)]
    for code in ("blas", "scalar"):
        weights = conv.first_weights(7)
        for images, targets in batches:
            weights = weights + np.float32(0.1 / 6) * gradient_all(conv, weights, images, targets)
        assert np.allclose(replay(conv, code, 7, batches, 0.1), weights, atol=1e-5)


def test_going_on_learns_and_old_weights_learn_less(dense: Net) -> None:
    labels = RNG.integers(0, 10, 400)
    images = (np.eye(10)[labels] @ RNG.random((10, 64))).reshape(-1, 8, 8).astype(np.float32)
    configuration = configuration_from({"cnn": "a", "plan": "1x1x1/1x1x1", "n_replicas": 2, "n_servers": 1})
    start = dense.first_weights(0)
    found = [go_on(dense, configuration, start, images, labels, rate=0.3, delay=delay, n_updates=150, seed=0) for delay in (0, 20)]
    fresh, old = (accuracy(dense, weights, images, labels) for weights in found)
    assert fresh > 0.9
    assert accuracy(dense, start, images, labels) < 0.5
    assert old < fresh
