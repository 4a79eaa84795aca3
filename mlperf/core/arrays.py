"""Types of arrays, and numbers with few significant digits, so that their decimal form is short and exact."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

LARGEST = 1e150
"""The square of what is larger no float can hold."""

SHORTEST, LONGEST = 1e-30, 1e30
"""Measured times, in any unit, lie between them and sizes below the longest: with squares of their products one can count."""


def rounded(values: FloatArray, digits: int) -> FloatArray:
    """Each value to ``digits`` significant digits, as the double nearest to that decimal number."""
    return np.array([float(f"{value:.{digits}g}") for value in np.ravel(values)]).reshape(np.shape(values))
