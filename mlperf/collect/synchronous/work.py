"""What one process computes in a step: load, forward, backward, pack, update; with the project's engine or torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.engine import training_step
from mlperf.core.arrays import IntArray
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import NETWORK_INPUT

LOSS_KERNEL = "softmax"


class Work(Protocol):
    """One replica of a network in training.

    Attributes
    ----------
    gradient : array, shape (n_params,)
        What is exchanged, float32: filled by `pack`, summed over all processes in place, read by `update`.
    """

    @property
    def gradient(self) -> Array: ...  # noqa: D102

    def load(self, rows: IntArray) -> None:
        """Bring samples into the network's input."""
        ...

    def forward(self) -> float:
        """Forward pass; returns the mean loss of the sub-batch."""
        ...

    def backward(self) -> None:
        """Backward pass."""
        ...

    def pack(self) -> None:
        """The gradients of all layers, one behind the other."""
        ...

    def update(self, n_processes: int) -> None:
        """Momentum and new weights from the sum of the gradients of so many processes."""
        ...

    def weights(self) -> Array:
        """All weights as a new vector."""
        ...


class NumpyWork:
    """A replica on the project's NumPy engine.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    images, labels : array
        The data set; uint8 images are scaled to 0..1 on loading.
    subbatch_size : int
        Samples of a step.
    seed : int
        Of the first weights: the same on all processes, whatever the sub-batch.
    learning_rate, momentum : float
        Of the update.
    dtype : numpy dtype
        float32; float64 for checks.
    """

    def __init__(
        self,
        cnn: CnnSpec,
        images: Any,
        labels: IntArray,
        subbatch_size: int,
        *,
        seed: int,
        learning_rate: float,
        momentum: float,
        dtype: Any = np.float32,
    ) -> None:
        self._step = training_step(cnn, subbatch_size, seed, dtype)
        self._images, self._labels = images, labels
        self._factor = dtype(1.0 / 255.0 if images.dtype == np.uint8 else 1.0)
        self._rates = dtype(learning_rate), dtype(momentum)
        self._forward, self._backward = split_at_loss(self._step.operations)
        pairs = [
            (self._step.parameters[layer][name].reshape(-1), self._step.gradients[layer][name].reshape(-1))
            for layer in self._step.parameters
            for name in self._step.parameters[layer]
        ]
        ends = np.cumsum([weights.size for weights, _ in pairs]).tolist()
        self._parts = [
            (weights, gradient, slice(end - weights.size, end)) for (weights, gradient), end in zip(pairs, ends, strict=True)
        ]
        self.gradient: Array = np.zeros(ends[-1], dtype=dtype)
        self._delta = np.zeros_like(self.gradient)
        # The engine draws images before weights: those of one sample are the same whatever the sub-batch.
        first = training_step(cnn, 1, seed, dtype).parameters
        for layer, own in self._step.parameters.items():
            for name, weights in own.items():
                np.copyto(weights, first[layer][name])

    def load(self, rows: IntArray) -> None:
        """Copy and scale the samples."""
        np.multiply(self._images[rows], self._factor, out=self._step.values[NETWORK_INPUT])
        self._step.labels[:] = self._labels[rows]

    def forward(self) -> float:
        """Every operation up to the loss."""
        for run in self._forward:
            run()
        return float(self._step.loss[0])

    def backward(self) -> None:
        """Every operation behind the loss."""
        for run in self._backward:
            run()

    def pack(self) -> None:
        """Copy each layer's gradients to their place."""
        for _, gradient, place in self._parts:
            np.copyto(self.gradient[place], gradient)

    def update(self, n_processes: int) -> None:
        """Delta <- momentum delta - rate mean gradient; weights <- weights + delta."""
        rate, momentum = self._rates
        self._delta *= momentum
        self.gradient *= rate / self.gradient.dtype.type(n_processes)
        self._delta -= self.gradient
        for weights, _, place in self._parts:
            weights += self._delta[place]

    def weights(self) -> Array:
        """All weights as a new vector."""
        return np.concatenate([weights for weights, _, _ in self._parts])


def split_at_loss(operations: Any) -> tuple[list[Callable[[], object]], list[Callable[[], object]]]:
    """Operations of the forward pass with the loss, and those of the backward pass."""
    last = max(place for place, operation in enumerate(operations) if operation.kernel == LOSS_KERNEL)
    runs = [operation.run for operation in operations]
    return runs[: last + 1], runs[last + 1 :]
