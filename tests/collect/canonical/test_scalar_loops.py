"""Compiled loops against products by BLAS, for sizes beyond those of the finite differences."""

from __future__ import annotations

import numpy as np

from mlperf.collect.canonical.loops import ConvLoops, DenseLoops, PoolLoops
from mlperf.collect.canonical.scalar_loops import ScalarConv, ScalarDense, ScalarPool

RNG = np.random.default_rng(2)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def test_both_codes_agree_to_rounding() -> None:
    dense, conv = random(120, 301) * 0.1, random(5 * 5 * 4 + 1, 16) * 0.1
    pairs = (
        (DenseLoops(dense), ScalarDense(dense), random(300)),
        (ConvLoops(conv, 5, 9, 16), ScalarConv(conv, 5, 9, 16), random(9, 16, 4)),
        (PoolLoops(2, 8, 10, 3), ScalarPool(2, 8, 10, 3), random(8, 10, 3)),
    )
    for first, second, x in pairs:
        (a, saved_a), (b, saved_b) = first.forward(x), second.forward(x)
        assert np.allclose(a, b, atol=1e-5)
        delta = random(a.size)
        assert np.allclose(first.backward(delta, saved_a).ravel(), second.backward(delta, saved_b).ravel(), atol=1e-4)
        both = [np.zeros_like(first.weights) for _ in range(2)]
        first.update(delta, saved_a, both[0])
        second.update(delta, saved_b, both[1])
        assert np.allclose(*both, atol=1e-4)
