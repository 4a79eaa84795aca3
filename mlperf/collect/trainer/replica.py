"""A worker's copy of the weights and its update value as one vector: what Algorithm 1 copies and adds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.engine import TrainingStep


class Replica:
    """Weights and gradients of one worker, in parts as the layers hold them.

    Parameters
    ----------
    weights, gradients : sequence of array
        Parts in one order, contiguous; written and read in place.

    Attributes
    ----------
    update : array, shape (n_params,)
        -eta times the gradient.
    """

    def __init__(self, weights: Sequence[Array], gradients: Sequence[Array]) -> None:
        ends = np.cumsum([part.size for part in weights]).tolist()
        self._places = [slice(end - part.size, end) for end, part in zip(ends, weights, strict=True)]
        self._weights = [part.reshape(-1) for part in weights]
        self._gradients = [part.reshape(-1) for part in gradients]
        self.update: Array = np.zeros(ends[-1], dtype=np.float32)

    def fetch(self, latest: Array) -> None:
        """Weights <- LatestWeights (line 4)."""
        for part, place in zip(self._weights, self._places, strict=True):
            np.copyto(part, latest[place])

    def compute_update_value(self, learning_rate: float) -> None:
        """Grad <- -eta Grad (line 10)."""
        for part, place in zip(self._gradients, self._places, strict=True):
            np.multiply(part, np.float32(-learning_rate), out=self.update[place])

    def weights(self) -> Array:
        """All weights as a new vector, shape (n_params,)."""
        return np.concatenate(self._weights)


def step_replica(step: TrainingStep) -> Replica:
    """The replica of a training step; layers in the order in which they run."""
    pairs = [
        (step.parameters[layer][name], step.gradients[layer][name]) for layer in step.parameters for name in step.parameters[layer]
    ]
    return Replica([weights for weights, _ in pairs], [gradients for _, gradients in pairs])


def blank_replica(n_params: int) -> Replica:
    """A replica of ordinary numbers for runs whose gradients are waited for."""
    return Replica([np.zeros(n_params, dtype=np.float32)], [np.full(n_params, 1e-6, dtype=np.float32)])
