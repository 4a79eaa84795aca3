"""The same segments as loops that numba compiles, in the form of figure 5 of the paper: no copy, hardly any cost of a call."""

from __future__ import annotations

import math

import numpy as np

from mlperf.collect.canonical.loops import ConvLoops, DenseLoops, Floats, PoolLoops, Saved
from mlperf.core.jit import jit_loops


class ScalarDense(DenseLoops):
    """`DenseLoops` with compiled loops."""

    def forward(self, x: Floats) -> tuple[Floats, Saved]:
        """tanh(W x + b), neuron by neuron."""
        saved: Floats = np.ones(self.weights.shape[1], dtype=np.float32)
        saved[:-1] = x.ravel()
        out: Floats = np.empty(self.n_neurons, dtype=np.float32)
        dense_forward(self.weights, saved, out)
        return out, saved

    def backward(self, delta: Floats, saved: Saved) -> Floats:  # noqa: ARG002 - pools need it
        """W' d, the bias left out."""
        found: Floats = np.zeros(self.weights.shape[1] - 1, dtype=np.float32)
        dense_backward(self.weights, delta, found)
        return found

    def update(self, delta: Floats, saved: Saved, gradient: Floats) -> None:
        """G += d x'."""
        dense_update(gradient, delta, saved)


class ScalarConv(ConvLoops):
    """`ConvLoops` with compiled loops over the image itself."""

    def forward(self, x: Floats) -> tuple[Floats, Saved]:
        """Place by place; keeps the image."""
        image = np.ascontiguousarray(x).reshape(self.rows, self.width, self.maps_in)
        out: Floats = np.empty((self.out_rows, self.out_width, self.weights.shape[1]), dtype=np.float32)
        conv_forward(self.weights, image, self.kernel, out)
        return out.reshape(self.out_rows, -1), image

    def backward(self, delta: Floats, saved: Saved) -> Floats:  # noqa: ARG002 - pools need it
        """Every place's errors, spread over what it read."""
        found: Floats = np.zeros((self.rows, self.width, self.maps_in), dtype=np.float32)
        errors = np.ascontiguousarray(delta).reshape(self.out_rows, self.out_width, -1)
        conv_backward(self.weights, errors, self.kernel, found)
        return found.reshape(self.rows, -1)

    def update(self, delta: Floats, saved: Saved, gradient: Floats) -> None:
        """G += x d', place by place."""
        conv_update(gradient, np.ascontiguousarray(delta).reshape(self.out_rows, self.out_width, -1), saved, self.kernel)


class ScalarPool(PoolLoops):
    """`PoolLoops` with compiled loops; the first of equal values takes the error."""

    def forward(self, x: Floats) -> tuple[Floats, Saved]:
        """Maxima; keeps which element of its window each one is."""
        image = np.ascontiguousarray(x).reshape(self.rows, self.width, self.maps)
        out: Floats = np.empty((self.out_rows, self.out_width, self.maps), dtype=np.float32)
        saved: Floats = np.empty_like(out)
        pool_forward(image, self.size, out, saved)
        return out.reshape(self.out_rows, -1), saved

    def backward(self, delta: Floats, saved: Saved) -> Floats:
        """Errors go where the maximum was."""
        found: Floats = np.zeros((self.rows, self.width, self.maps), dtype=np.float32)
        pool_backward(np.ascontiguousarray(delta).reshape(self.out_rows, self.out_width, self.maps), saved, self.size, found)
        return found.reshape(self.rows, -1)


@jit_loops
def dense_forward(weights: Floats, x: Floats, out: Floats) -> None:
    """Y_i = sum_j w_ij x_j, a_i = tanh(y_i) (figure 5)."""
    for i in range(weights.shape[0]):
        y = np.float32(0.0)
        for j in range(weights.shape[1]):
            y += weights[i, j] * x[j]
        out[i] = math.tanh(y)


@jit_loops
def dense_backward(weights: Floats, delta: Floats, out: Floats) -> None:
    """Out_j = sum_i d_i w_ij, row by row of the weights as they lie in memory."""
    for i in range(weights.shape[0]):
        d = delta[i]
        for j in range(weights.shape[1] - 1):
            out[j] += d * weights[i, j]


@jit_loops
def dense_update(gradient: Floats, delta: Floats, x: Floats) -> None:
    """G_ij += d_i x_j."""
    for i in range(gradient.shape[0]):
        d = delta[i]
        for j in range(gradient.shape[1]):
            gradient[i, j] += d * x[j]


@jit_loops
def conv_forward(weights: Floats, image: Floats, kernel: int, out: Floats) -> None:
    """Every place: bias, then all kernel elements and maps that it reads, for all maps written; tanh."""
    n_maps_in, n_maps_out = image.shape[2], weights.shape[1]
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            for o in range(n_maps_out):
                out[row, column, o] = weights[weights.shape[0] - 1, o]
            for i in range(kernel):
                for j in range(kernel):
                    for m in range(n_maps_in):
                        x = image[row + i, column + j, m]
                        w = (i * kernel + j) * n_maps_in + m
                        for o in range(n_maps_out):
                            out[row, column, o] += x * weights[w, o]
            for o in range(n_maps_out):
                out[row, column, o] = math.tanh(out[row, column, o])


@jit_loops
def conv_backward(weights: Floats, delta: Floats, kernel: int, out: Floats) -> None:
    """Out += kernels times the errors of every place that read an element."""
    n_maps_in, n_maps_out = out.shape[2], weights.shape[1]
    for row in range(delta.shape[0]):
        for column in range(delta.shape[1]):
            for i in range(kernel):
                for j in range(kernel):
                    for m in range(n_maps_in):
                        w = (i * kernel + j) * n_maps_in + m
                        total = np.float32(0.0)
                        for o in range(n_maps_out):
                            total += delta[row, column, o] * weights[w, o]
                        out[row + i, column + j, m] += total


@jit_loops
def conv_update(gradient: Floats, delta: Floats, image: Floats, kernel: int) -> None:
    """G += every element read times the error of the place that read it; the last row is that of the biases."""
    n_maps_in, n_maps_out = image.shape[2], gradient.shape[1]
    for row in range(delta.shape[0]):
        for column in range(delta.shape[1]):
            for i in range(kernel):
                for j in range(kernel):
                    for m in range(n_maps_in):
                        x = image[row + i, column + j, m]
                        w = (i * kernel + j) * n_maps_in + m
                        for o in range(n_maps_out):
                            gradient[w, o] += x * delta[row, column, o]
            for o in range(n_maps_out):
                gradient[gradient.shape[0] - 1, o] += delta[row, column, o]


@jit_loops
def pool_forward(image: Floats, size: int, out: Floats, chosen: Floats) -> None:
    """The largest element of every window, and its number in the window."""
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            for m in range(out.shape[2]):
                best = image[row * size, column * size, m]
                place = 0
                for i in range(size):
                    for j in range(size):
                        value = image[row * size + i, column * size + j, m]
                        if value > best:
                            best = value
                            place = i * size + j
                out[row, column, m] = best
                chosen[row, column, m] = place


@jit_loops
def pool_backward(delta: Floats, chosen: Floats, size: int, out: Floats) -> None:
    """The error of every window to the element that was its largest."""
    for row in range(delta.shape[0]):
        for column in range(delta.shape[1]):
            for m in range(delta.shape[2]):
                place = int(chosen[row, column, m])
                out[row * size + place // size, column * size + place % size, m] += delta[row, column, m]
