"""The innermost loops of one segment of one layer for one sample: what is measured alone, and what the trainer runs."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.linalg.blas import sger

Floats: TypeAlias = NDArray[np.float32]
Saved: TypeAlias = NDArray[np.float32]
VALUE_BYTES = 4


class Loops(Protocol):
    """One segment: f(W x + b) forward, W' d backward, G += d x' for the update; buffers belong to one thread.

    Attributes
    ----------
    n_connections : int
        Multiply-adds of each pass (comparisons of a pool).
    n_neurons : int
        Outputs.
    n_inputs : int
        Values that are read.
    weights : array, shape (rows, columns)
        With the biases; shape (0, 0) where the layer has none.
    """

    n_connections: int
    n_neurons: int
    n_inputs: int
    weights: Floats

    def forward(self, x: Floats) -> tuple[Floats, Saved]:
        """Activations, and what the other passes need (eqs. 1 and 5)."""

    def backward(self, delta: Floats, saved: Saved) -> Floats:
        """The segment's part of sum_s d_s w_si for every input (eqs. 3 and 7, without f')."""

    def update(self, delta: Floats, saved: Saved, gradient: Floats) -> None:
        """Add this sample's part to the gradient (eqs. 4 and 8)."""


class DenseLoops:
    """Neurons that read everything.

    Parameters
    ----------
    weights : array, shape (n_out, n_in + 1)
        Rows of the matrix with the bias as last column.
    """

    def __init__(self, weights: Floats) -> None:
        self.weights = weights
        self.n_neurons, n_columns = weights.shape
        self.n_inputs = n_columns - 1
        self.n_connections = self.n_neurons * self.n_inputs

    def forward(self, x: Floats) -> tuple[Floats, Saved]:
        """tanh(W x + b); keeps x with a one behind it."""
        saved: Floats = np.ones(self.weights.shape[1], dtype=np.float32)
        saved[:-1] = x.ravel()
        out: Floats = np.dot(self.weights, saved)
        return np.tanh(out, out=out), saved

    def backward(self, delta: Floats, saved: Saved) -> Floats:  # noqa: ARG002 - pools need it
        """W' d, the bias left out."""
        found: Floats = np.dot(delta, self.weights)
        return found[:-1]

    def update(self, delta: Floats, saved: Saved, gradient: Floats) -> None:
        """G += d x' in place: a row-major G is the column-major matrix that BLAS adds to."""
        sger(1.0, saved, delta, a=gradient.T, overwrite_x=1, overwrite_y=1, overwrite_a=1)


class ConvLoops:
    """Rows of a convolution's maps; every segment holds all kernels.

    Parameters
    ----------
    weights : array, shape (c * c * maps_in + 1, maps_out)
        Kernels with the biases as last row.
    kernel : int
        c.
    rows, width : int
        Rows of the input that the segment reads, and their length, both >= c.
    """

    def __init__(self, weights: Floats, kernel: int, rows: int, width: int) -> None:
        self.weights, self.kernel = weights, kernel
        self.rows, self.width = rows, width
        self.out_rows, self.out_width = rows - kernel + 1, width - kernel + 1
        self.maps_in = (weights.shape[0] - 1) // kernel**2
        self.n_inputs = rows * width * self.maps_in
        n_places = self.out_rows * self.out_width
        self.n_neurons = n_places * weights.shape[1]
        self.n_connections = n_places * (weights.shape[0] - 1) * weights.shape[1]
        self._product: Floats = np.empty_like(weights)

    def forward(self, x: Floats) -> tuple[Floats, Saved]:
        """im2col, one product, tanh; keeps the columns with a one behind them."""
        image = x.reshape(self.rows, self.width, self.maps_in)
        windows = sliding_window_view(image, (self.kernel, self.kernel), axis=(0, 1))
        saved: Floats = np.ones((self.out_rows * self.out_width, self.weights.shape[0]), dtype=np.float32)
        columns = saved[:, :-1].reshape(self.out_rows, self.out_width, self.kernel, self.kernel, self.maps_in)
        columns[...] = windows.transpose(0, 1, 3, 4, 2)
        out: Floats = np.dot(saved, self.weights)
        return np.tanh(out, out=out).reshape(self.out_rows, -1), saved

    def backward(self, delta: Floats, saved: Saved) -> Floats:  # noqa: ARG002 - pools need it
        """One product, then col2im."""
        spread = np.dot(delta.reshape(-1, self.weights.shape[1]), self.weights[:-1].T)
        spread = spread.reshape(self.out_rows, self.out_width, self.kernel, self.kernel, self.maps_in)
        found: Floats = np.zeros((self.rows, self.width, self.maps_in), dtype=np.float32)
        for i in range(self.kernel):
            for j in range(self.kernel):
                found[i : i + self.out_rows, j : j + self.out_width] += spread[:, :, i, j]
        return found.reshape(self.rows, -1)

    def update(self, delta: Floats, saved: Saved, gradient: Floats) -> None:
        """G += columns' d."""
        np.dot(saved.T, delta.reshape(-1, self.weights.shape[1]), out=self._product)
        np.add(gradient, self._product, out=gradient)


class PoolLoops:
    """Rows of maxima over windows that do not overlap.

    Parameters
    ----------
    size : int
        Side of a window.
    rows, width, maps : int
        Of the input that the segment reads; rows and columns that fill no window are not read.
    """

    def __init__(self, size: int, rows: int, width: int, maps: int) -> None:
        self.size, self.rows, self.width, self.maps = size, rows, width, maps
        self.out_rows, self.out_width = rows // size, width // size
        self.n_neurons = self.out_rows * self.out_width * maps
        self.n_connections = self.n_neurons * size**2
        self.n_inputs = rows * width * maps
        self.weights: Floats = np.zeros((0, 0), dtype=np.float32)

    def _windows(self, x: Floats) -> Floats:
        image = x.reshape(self.rows, self.width, self.maps)[: self.out_rows * self.size, : self.out_width * self.size]
        shape = (self.out_rows, self.size, self.out_width, self.size, self.maps)
        found: Floats = image.reshape(shape) if image.flags.c_contiguous else np.ascontiguousarray(image).reshape(shape)
        return found

    def forward(self, x: Floats) -> tuple[Floats, Saved]:
        """Maxima; keeps where they are, as ones shared by equal values."""
        windows = self._windows(x)
        out: Floats = windows.max(axis=(1, 3))
        saved = (windows == out[:, None, :, None, :]).astype(np.float32)
        return out.reshape(self.out_rows, -1), saved

    def backward(self, delta: Floats, saved: Saved) -> Floats:
        """Errors go where the maximum was, shared where several are equal."""
        shared = delta.reshape(self.out_rows, self.out_width, self.maps) / saved.sum(axis=(1, 3))
        found: Floats = np.zeros((self.rows, self.width, self.maps), dtype=np.float32)
        part = (saved * shared[:, None, :, None, :]).reshape(self.out_rows * self.size, self.out_width * self.size, self.maps)
        found[: part.shape[0], : part.shape[1]] = part
        return found.reshape(self.rows, -1)

    def update(self, delta: Floats, saved: Saved, gradient: Floats) -> None:
        """There is nothing to learn."""


CODES = ("blas", "scalar")
"""Products by BLAS; or loops as in figure 5 of the paper, compiled by numba."""


def error_terms(received: Floats, activations: Floats) -> Floats:
    """D = received * f'(a) of tanh: received * (1 - a^2) (eq. 3)."""
    slope = np.multiply(activations, activations)
    np.subtract(np.float32(1.0), slope, out=slope)
    found: Floats = np.multiply(received, slope, out=slope)
    return found


def working_set_bytes(loops: Loops) -> float:
    """Parameters and outputs of a segment, bytes."""
    return float(VALUE_BYTES * (loops.weights.size + loops.n_neurons))
