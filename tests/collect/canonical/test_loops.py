"""The loops against finite differences of the same layer in double precision, and a stripe against the whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import correlate2d

from mlperf.collect.canonical.build import convolution, dense, pool
from mlperf.collect.canonical.loops import CODES, Loops, error_terms, working_set_bytes

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(1)
STEP = 1e-5


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def dense_double(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Eq. 1 in double precision."""
    return np.tanh(weights[:, :-1] @ x.ravel() + weights[:, -1])


def conv_double(weights: np.ndarray, x: np.ndarray, kernel: int) -> np.ndarray:
    """Correlation of every pair of maps, by scipy."""
    kernels = weights[:-1].reshape(kernel, kernel, x.shape[2], -1)
    maps = [
        sum(correlate2d(x[:, :, m], kernels[:, :, m, o], mode="valid") for m in range(x.shape[2])) + weights[-1, o]
        for o in range(kernels.shape[3])
    ]
    return np.tanh(np.stack(maps, axis=-1)).ravel()


def slopes(function, values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Finite differences of errors . function(values) by every value."""
    found, flat = np.zeros(values.size), values.astype(np.float64).ravel()
    for place in range(flat.size):
        up, down = flat.copy(), flat.copy()
        up[place] += STEP
        down[place] -= STEP
        found[place] = errors @ (function(up.reshape(values.shape)) - function(down.reshape(values.shape))) / (2.0 * STEP)
    return found


def check(loops: Loops, function, x: np.ndarray, weights: np.ndarray) -> None:
    """Activations, errors of the inputs and gradient against the double-precision layer."""
    out, saved = loops.forward(x)
    assert np.allclose(out.ravel(), function(weights.astype(float), x.astype(float)), atol=2e-6)
    errors = random(out.size)
    delta = error_terms(errors, out.ravel())
    by_input = slopes(lambda values: function(weights.astype(float), values), x, errors)
    assert np.allclose(loops.backward(delta, saved).ravel(), by_input, atol=2e-4)
    gradient = np.ones_like(weights)
    loops.update(delta, saved, gradient)
    by_weight = slopes(lambda values: function(values, x.astype(float)), weights, errors)
    assert np.allclose(gradient.ravel() - 1.0, by_weight, atol=2e-4)


@pytest.mark.parametrize("code", CODES)
def test_dense_loops_are_the_layer_and_its_slopes(code: str) -> None:
    weights = random(4, 7)
    check(dense(code, weights.copy()), dense_double, random(6), weights)


@pytest.mark.parametrize("code", CODES)
def test_conv_loops_are_the_layer_and_its_slopes(code: str) -> None:
    weights = random(3 * 3 * 2 + 1, 3) * 0.3
    loops = convolution(code, weights.copy(), 3, 5, 6)
    check(loops, lambda w, x: conv_double(w, x, 3), random(5, 6, 2), weights)


@pytest.mark.parametrize("code", CODES)
def test_a_pool_keeps_maxima_and_sends_errors_to_them(code: str) -> None:
    loops, image = pool(code, 2, 5, 4, 2), random(5, 4, 2)
    out, saved = loops.forward(image)
    expected = np.array([[image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max(axis=(0, 1)) for j in range(2)] for i in range(2)])
    assert np.array_equal(out.reshape(2, 2, 2), expected)
    delta = random(8)
    found = loops.backward(delta, saved).reshape(5, 4, 2)
    assert found.sum() == pytest.approx(delta.sum(), abs=1e-5)
    assert set(image[found != 0]) <= set(out.ravel())
    assert not found[4].any()


def test_the_working_set_counts_parameters_and_outputs() -> None:
    assert working_set_bytes(dense("blas", random(4, 7))) == 4 * (28 + 4)
    assert dense("blas", random(4, 7)).n_connections == 24
    assert convolution("blas", random(19, 3), 3, 5, 6).n_connections == 3 * 4 * 18 * 3
