"""The corrected Table 2 against an independent network in NumPy, written from nothing but Table 1's numbers.

`Im2colNetwork` knows neither `CnnSpec` nor `kernel_calls`. Its forward pass agrees with direct convolution and its gradients
with central differences, so the products that it logs are the ones that training needs.
"""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.specs.kernels.kernels import GEMM_KERNELS, kernel_calls

SUBBATCH_SIZE = 3
STEP = 1e-5


class Im2colNetwork:
    """Valid c x c convolutions, tanh, 2 x 2 max pooling, fully connected layers, softmax with cross entropy; maps last."""

    def __init__(self, input_size, n_maps, pools_after, n_conv, rng, filter_size=3):
        self.pools, self.n_conv, self.c = pools_after, n_conv, filter_size
        self.n_layers = len(n_maps) - 1
        self.log = []
        self.weights, self.biases = [], []
        size = input_size
        for number in range(1, self.n_layers + 1):
            fan = n_maps[number - 1] * (filter_size**2 if number <= n_conv else size**2)
            self.weights.append(rng.normal(size=(fan, n_maps[number])) / np.sqrt(fan))
            self.biases.append(rng.normal(size=n_maps[number]) / 10)
            size = (size - filter_size + 1) // (2 if number in pools_after else 1) if number <= n_conv else 1

    def product(self, kernel, number, a, b):
        self.log.append((kernel, number, a.shape[0], b.shape[1], a.shape[1]))
        return a @ b

    def columns(self, x):
        windows = np.lib.stride_tricks.sliding_window_view(x, (self.c, self.c), axis=(1, 2))
        return windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, self.c**2 * x.shape[3])

    def fold(self, columns, shape):
        samples, height, width, maps = shape
        out = np.zeros(shape)
        rows, cols = height - self.c + 1, width - self.c + 1
        patches = columns.reshape(samples, rows, cols, self.c, self.c, maps)
        for i in range(self.c):
            for j in range(self.c):
                out[:, i : i + rows, j : j + cols] += patches[:, :, :, i, j]
        return out

    def forward(self, x, labels):
        """Mean cross entropy; keeps what the backward pass needs."""
        self.kept = []
        for number in range(1, self.n_layers + 1):
            is_conv = number <= self.n_conv
            shape = x.shape
            a = self.columns(x) if is_conv else x.reshape(len(x), -1)
            z = self.product("convolution" if is_conv else "fc", number, a, self.weights[number - 1]) + self.biases[number - 1]
            y = np.tanh(z) if number < self.n_layers else z
            side = shape[1] - self.c + 1 if is_conv else 1
            y = y.reshape(len(x), side, side, -1)
            mask = None
            if number in self.pools:
                blocks = y.reshape(len(x), side // 2, 2, side // 2, 2, -1)
                best = blocks.max(axis=(2, 4), keepdims=True)
                mask, y_out = blocks == best, best[:, :, 0, :, 0]
            else:
                y_out = y
            self.kept.append((shape, a, y, mask))
            x = y_out
        logits = x.reshape(len(x), -1)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        self.probabilities = shifted / shifted.sum(axis=1, keepdims=True)
        return -np.mean(np.log(self.probabilities[np.arange(len(x)), labels]))

    def backward(self, labels):
        """Gradients of all weights and biases."""
        grad = self.probabilities.copy()
        grad[np.arange(len(labels)), labels] -= 1
        grad /= len(labels)
        grads_w, grads_b = [None] * self.n_layers, [None] * self.n_layers
        for number in range(self.n_layers, 0, -1):
            shape, a, y, mask = self.kept[number - 1]
            if mask is not None:
                half = y.shape[1] // 2
                grad = (mask * grad.reshape(len(labels), half, 1, half, 1, -1)).reshape(y.shape)
            grad = grad.reshape(-1, y.shape[3])
            if number < self.n_layers:
                grad = grad * (1 - y.reshape(grad.shape) ** 2)
            grads_b[number - 1] = self.product("dedb", number, np.ones((1, len(grad))), grad)[0]
            grads_w[number - 1] = self.product("dedw", number, a.T, grad)
            if number == 1:
                break
            is_conv = number <= self.n_conv
            inner = self.product("dedx-conv" if is_conv else "dedx-fc", number, grad, self.weights[number - 1].T)
            grad = self.fold(inner, shape) if is_conv else inner.reshape(shape)
        return grads_w, grads_b


@pytest.fixture
def trained(small_net):
    """The network after one step on random samples, with its gradients."""
    rng = np.random.default_rng(7)
    network = Im2colNetwork(small_net.input_size, small_net.n_maps, small_net.pools_after, small_net.n_conv, rng)
    x = rng.normal(size=(SUBBATCH_SIZE, small_net.input_size, small_net.input_size, small_net.n_maps[0]))
    labels = rng.integers(small_net.n_maps[-1], size=SUBBATCH_SIZE)
    network.forward(x, labels)
    return network, x, labels, network.backward(labels)


def test_every_product_has_the_size_that_the_network_logs(small_net, trained):
    """Table 2 with its three corrections; the number of products is the published one."""
    network = trained[0]
    calls = [call for call in kernel_calls(small_net.spec, SUBBATCH_SIZE) if call.kernel in GEMM_KERNELS]
    names = small_net.spec.sprint_form().layer_names
    listed = [(call.kernel, names.index(call.layer) + 1, call.m, call.n, call.k) for call in calls]
    assert listed == network.log
    assert len(listed) == small_net.n_products


def test_parameters_are_those_the_network_holds(small_net, trained):
    network = trained[0]
    assert small_net.spec.n_params == sum(w.size + b.size for w, b in zip(network.weights, network.biases, strict=True))


def test_kept_maps_have_the_listed_shapes(small_net, trained):
    form = small_net.spec.sprint_form()
    for (shape, _, y, _), size, conv_size, maps in zip(trained[0].kept, form.sizes, form.conv_sizes, form.n_maps, strict=False):
        assert shape[1:] == (size, size, maps)
        assert y.shape[1:3] == (conv_size, conv_size)


def test_gradients_agree_with_central_differences(trained):
    """The oracle itself: error of central differences with step 1e-5 is about 1e-10, published agreement 6e-9."""
    network, x, labels, (grads_w, grads_b) = trained
    rng = np.random.default_rng(11)
    for parameters, gradients in ((network.weights, grads_w), (network.biases, grads_b)):
        for parameter, gradient in zip(parameters, gradients, strict=True):
            for flat in rng.integers(parameter.size, size=3):
                place = np.unravel_index(flat, parameter.shape)
                value = parameter[place]
                losses = []
                for sign in (1, -1):
                    parameter[place] = value + sign * STEP
                    losses.append(network.forward(x, labels))
                parameter[place] = value
                assert gradient[place] == pytest.approx((losses[0] - losses[1]) / (2 * STEP), abs=1e-8)


def test_im2col_agrees_with_direct_convolution(trained):
    network, x, _, _ = trained
    c, weights = network.c, network.weights[0]
    kernel = weights.reshape(c, c, x.shape[3], -1)
    side = x.shape[1] - c + 1
    direct = sum(x[:, i : i + side, j : j + side] @ kernel[i, j] for i in range(c) for j in range(c))
    assert np.allclose(network.columns(x) @ weights, direct.reshape(-1, weights.shape[1]), rtol=0, atol=1e-13)
