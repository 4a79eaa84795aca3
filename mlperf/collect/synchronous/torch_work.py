"""A replica on torch's layers: forward, autograd, SGD with momentum in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlperf.collect.backends.torch_module import torch_module
from mlperf.collect.cnn_engine.builder import Array
from mlperf.core.arrays import IntArray
from mlperf.core.extras import require
from mlperf.specs.network.cnn import CnnSpec


class TorchWork:
    """A replica on torch, one thread.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    images, labels : array
        The data set, samples x height x width x maps.
    subbatch_size : int
        Samples of a step.
    seed : int
        Of the first weights: the same on all processes.
    learning_rate, momentum : float
        Of the update.

    Raises
    ------
    MissingExtraError
        torch is not installed.
    """

    def __init__(
        self, cnn: CnnSpec, images: Any, labels: IntArray, subbatch_size: int, *, seed: int, learning_rate: float, momentum: float
    ) -> None:
        self._torch = torch = require("torch", "torch")
        torch.set_num_threads(1)
        self._module, _ = torch_module(cnn, "cpu", seed)
        self._parameters = list(self._module.parameters())
        self._images, self._labels = images, labels
        self._factor = np.float32(1.0 / 255.0 if images.dtype == np.uint8 else 1.0)
        self._rates = learning_rate, momentum
        height, width = cnn.input_size
        self._input = torch.zeros((subbatch_size, cnn.input_maps, height, width))
        self._target = torch.zeros(subbatch_size, dtype=torch.int64)
        self._loss: Any = None
        self._found: Any = ()
        ends = np.cumsum([each.numel() for each in self._parameters]).tolist()
        self._places = [slice(end - each.numel(), end) for each, end in zip(self._parameters, ends, strict=True)]
        self.gradient: Array = np.zeros(ends[-1], dtype=np.float32)
        self._flat = torch.from_numpy(self.gradient)
        self._delta = torch.zeros_like(self._flat)

    def load(self, rows: IntArray) -> None:
        """Copy and scale the samples, maps first as torch reads them."""
        images = np.multiply(self._images[rows], self._factor, dtype=np.float32).transpose(0, 3, 1, 2)
        self._input.copy_(self._torch.from_numpy(images))
        self._target.copy_(self._torch.from_numpy(self._labels[rows]))

    def forward(self) -> float:
        """Logits and mean cross-entropy."""
        self._loss = self._torch.nn.functional.cross_entropy(self._module(self._input), self._target)
        return float(self._loss)

    def backward(self) -> None:
        """Gradients of all parameters."""
        self._found = self._torch.autograd.grad(self._loss, self._parameters)

    def pack(self) -> None:
        """Copy each parameter's gradient to its place."""
        for found, place in zip(self._found, self._places, strict=True):
            self._flat[place].copy_(found.reshape(-1))

    def update(self, n_processes: int) -> None:
        """Delta <- momentum delta - rate mean gradient; weights <- weights + delta."""
        rate, momentum = self._rates
        self._delta.mul_(momentum).sub_(self._flat, alpha=rate / n_processes)
        with self._torch.no_grad():
            for weights, place in zip(self._parameters, self._places, strict=True):
                weights.add_(self._delta[place].reshape(weights.shape))

    def weights(self) -> Array:
        """All weights as a new vector."""
        return np.concatenate([each.detach().numpy().reshape(-1) for each in self._parameters])
