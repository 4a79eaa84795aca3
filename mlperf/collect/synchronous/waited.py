"""A replica that waits instead of computing: whole measured steps of one process, drawn and slept; the exchange stays real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.trainer.waits import Sleeper
from mlperf.core.arrays import IntArray

WAITED = ("input", "forward", "backward", "optimizer")


class WaitedWork:
    """Sleeps for the parts of one measured step, all of the same step.

    Parameters
    ----------
    rounds_s : mapping of str to sequence of float
        Seconds of `WAITED` parts in measured steps, equally long.
    n_params : int
        Length of the vector that is exchanged.
    rng : numpy Generator
        Draws steps.
    sleeper : Sleeper
        Sleeps.
    """

    def __init__(self, rounds_s: Mapping[str, Sequence[float]], n_params: int, rng: np.random.Generator, sleeper: Sleeper) -> None:
        self._rounds_s = np.array([rounds_s[part] for part in WAITED])
        self._rng, self._sleep = rng, sleeper
        self._drawn = self._rounds_s[:, 0]
        self.gradient: Array = np.zeros(n_params, dtype=np.float32)

    def load(self, rows: IntArray) -> None:  # noqa: ARG002 - waits whatever the samples are
        """Draw a step; wait for its input."""
        self._drawn = self._rounds_s[:, self._rng.integers(self._rounds_s.shape[1])]
        self._sleep(float(self._drawn[0]))

    def forward(self) -> float:
        """Wait for its forward pass; there is no loss."""
        self._sleep(float(self._drawn[1]))
        return 0.0

    def backward(self) -> None:
        """Wait for its backward pass."""
        self._sleep(float(self._drawn[2]))

    def pack(self) -> None:
        """Nothing: the wait of `update` holds it."""

    def update(self, n_processes: int) -> None:  # noqa: ARG002 - waits as long on any number
        """Wait for its packing and update."""
        self._sleep(float(self._drawn[3]))

    def weights(self) -> Array:
        """None that mean anything."""
        return self.gradient.copy()
