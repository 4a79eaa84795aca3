"""A replica's update against SGD written out, and its parts against the engine's own step."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.collect.cnn_engine.engine import training_step
from mlperf.collect.synchronous.work import NumpyWork, split_at_loss
from mlperf.specs import CnnSpec
from mlperf.specs.network.layer import NETWORK_INPUT

NET = CnnSpec.from_sprint("tiny", 14, (1, 4, 5, 6, 7), (2,), 3)
RNG = np.random.default_rng(0)
IMAGES, LABELS = RNG.standard_normal((20, 14, 14, 1)), RNG.integers(0, 7, 20)


def replica(subbatch_size: int, dtype: type = np.float64) -> NumpyWork:
    return NumpyWork(NET, IMAGES.astype(dtype), LABELS, subbatch_size, seed=1, learning_rate=0.1, momentum=0.5, dtype=dtype)


def step(work: NumpyWork, rows: np.ndarray) -> float:
    work.load(rows)
    loss = work.forward()
    work.backward()
    work.pack()
    return loss


def test_parts_make_the_engines_step() -> None:
    engine = training_step(NET, 4, seed=1, dtype=np.float64)
    for layer, own in training_step(NET, 1, seed=1, dtype=np.float64).parameters.items():
        for name, weights in own.items():
            engine.parameters[layer][name][:] = weights
    engine.values[NETWORK_INPUT][:], engine.labels[:] = IMAGES[:4], LABELS[:4]
    engine.run()
    work = replica(4)
    assert step(work, np.arange(4)) == engine.loss[0]
    gradients = [engine.gradients[layer][name].ravel() for layer in engine.gradients for name in engine.gradients[layer]]
    assert (work.gradient == np.concatenate(gradients)).all()
    forward, backward = split_at_loss(engine.operations)
    assert len(forward) + len(backward) == len(engine.operations)


def test_the_update_is_sgd_with_momentum_on_the_mean_gradient() -> None:
    work = replica(4)
    before, delta = work.weights(), 0.0
    for _ in range(3):
        step(work, np.arange(4))
        gradient = work.gradient.copy()
        # As if a second process had found twice the gradient.
        work.gradient *= 3.0
        work.update(2)
        delta = 0.5 * delta - 0.1 * 1.5 * gradient
        before = before + delta
        assert work.weights() == pytest.approx(before, rel=1e-12)


def test_bytes_are_scaled_on_loading() -> None:
    bytes_ = np.full((4, 14, 14, 1), 255, dtype=np.uint8)
    work = NumpyWork(NET, bytes_, LABELS, 2, seed=0, learning_rate=0.1, momentum=0.0)
    ones = NumpyWork(NET, np.ones((4, 14, 14, 1), np.float32), LABELS, 2, seed=0, learning_rate=0.1, momentum=0.0)
    assert step(work, np.arange(2)) == pytest.approx(step(ones, np.arange(2)))


def test_the_mean_of_two_halves_is_the_gradient_of_the_whole() -> None:
    whole = replica(8)
    step(whole, np.arange(8))
    halves = []
    for rows in (np.arange(4), np.arange(4, 8)):
        half = replica(4)
        step(half, rows)
        halves.append(half.gradient)
    assert np.mean(halves, axis=0) == pytest.approx(whole.gradient, abs=1e-14)
