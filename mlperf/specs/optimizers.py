"""What an optimizer reads, writes and keeps for every parameter: its cost in passes over vectors.

The update thread's own work is bound by memory, so the time of another optimizer is assumed to follow from the measured one by its
passes. Counts are those of one fused update, each vector once; norms are passes of their own, as factors follow norms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlperf.core.errors import DataError
from mlperf.core.suggest import known_word

MOMENTUM_SGD = "momentum_sgd"
"""The optimizer of SPRINT (Algorithms 1 and 2 of Oyama et al.), which is the one that campaigns measure."""
STATE_BYTES = 4
"""Of one number of an optimizer's state: single precision, whatever the job's data type."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """Vectors of N_Param numbers that one update handles.

    Attributes
    ----------
    n_read : int
        Read: weights, gradient and state, and again what a norm needs.
    n_written : int
        Written: weights and state.
    n_state : int
        Kept between updates, beside the weights.
    """

    n_read: int
    n_written: int
    n_state: int

    @property
    def n_passes(self) -> int:
        """Vectors read and written."""
        return self.n_read + self.n_written

    def state_bytes(self, n_params: int) -> int:
        """Memory of the state of so many parameters."""
        return STATE_BYTES * self.n_state * n_params

    def moved_bytes(self, n_params: int) -> int:
        """Memory traffic of one update of so many parameters."""
        return STATE_BYTES * self.n_passes * n_params


OPTIMIZERS: Mapping[str, Optimizer] = {
    "sgd": Optimizer(2, 1, 0),
    MOMENTUM_SGD: Optimizer(3, 2, 1),
    "adam": Optimizer(4, 3, 2),
    "lars": Optimizer(5, 2, 1),
}
"""Optimizers by name.

``sgd`` reads weights and gradient and writes weights; momentum adds its vector to either side; ``adam`` (Kingma and Ba, 2015)
has two such vectors; ``lars`` (You et al., 2017) is momentum after one more reading of weights and gradient
for the norms of every layer.
"""


def optimizer(name: str) -> Optimizer:
    """The optimizer of that name.

    Raises
    ------
    DataError
        Unknown name.
    """
    return OPTIMIZERS[known_word(name, OPTIMIZERS, place="optimizer", error=DataError)]


def pass_ratio(name: str) -> float:
    """Passes over vectors of an optimizer's update over those of the measured one; 1 for momentum SGD."""
    return optimizer(name).n_passes / OPTIMIZERS[MOMENTUM_SGD].n_passes
