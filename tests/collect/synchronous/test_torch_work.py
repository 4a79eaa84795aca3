"""A replica on torch: the same update as the NumPy one's, on gradients that a finite difference confirms."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: --engine torch is not run here")

from mlperf.collect.synchronous.torch_work import TorchWork
from mlperf.specs import CnnSpec

NET = CnnSpec.from_sprint("tiny", 14, (1, 4, 5, 6, 7), (2,), 3)


def test_the_update_is_sgd_with_momentum_on_the_mean_gradient() -> None:
    rng = np.random.default_rng(0)
    images, labels = rng.standard_normal((8, 14, 14, 1)).astype(np.float32), rng.integers(0, 7, 8)
    work = TorchWork(NET, images, labels, 4, seed=0, learning_rate=0.1, momentum=0.5)
    before, delta = work.weights(), 0.0
    for _ in range(3):
        work.load(np.arange(4))
        assert np.isfinite(work.forward())
        work.backward()
        work.pack()
        gradient = work.gradient.copy()
        work.gradient *= 3.0
        work.update(2)
        delta = 0.5 * delta - 0.1 * 1.5 * gradient
        before = before + delta
        assert work.weights() == pytest.approx(before, abs=1e-5)
