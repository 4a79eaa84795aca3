"""Number formats of a training run, and how many bytes each kind of tensor takes in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlperf.core.errors import DataError
from mlperf.core.suggest import known_word

SINGLE = "fp32"
"""The format in which everything here is measured."""


@dataclass(frozen=True, slots=True)
class DataType:
    """Bytes of a number in memory.

    Attributes
    ----------
    number_bytes : int
        Of weights as layers read them, activations and their gradients. TF32 is a way to multiply: its numbers are stored in four.
    master_bytes : int
        Of the copy of each weight in single precision that updates are applied to; 0 where the weights are that copy.

    References
    ----------
    Micikevicius et al. (2018), Mixed precision training: weights, activations and gradients in half precision, a master copy of the
    weights in single precision.
    """

    number_bytes: int
    master_bytes: int


DATA_TYPES: Mapping[str, DataType] = {
    "fp32": DataType(4, 0),
    "tf32": DataType(4, 0),
    "bf16": DataType(2, 4),
    "fp16": DataType(2, 4),
}
"""Formats by name."""


def data_type(name: str) -> DataType:
    """The format of that name.

    Raises
    ------
    DataError
        Unknown name.
    """
    return DATA_TYPES[known_word(name, DATA_TYPES, place="data_type", error=DataError)]
