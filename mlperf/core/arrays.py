"""Types of arrays, and numbers with few significant digits, so that their decimal form is short and exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

LARGEST = 1e150
"""The square of what is larger no float can hold."""

SHORTEST, LONGEST = 1e-30, 1e30
"""Measured times, in any unit, lie between them and sizes below the longest: with squares of their products one can count."""


def number_columns(frame: Any, names: Sequence[str]) -> FloatArray | None:
    """Columns of a DataFrame as numbers, shape (n_rows, n_columns); None where one holds anything else.

    A frame of some columns of another, which pandas makes in between, takes longer than most predictions.
    """
    columns = [frame[name] for name in names]
    if not all(isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiu" for column in columns):
        return None
    return np.array([column.to_numpy(dtype=np.float64) for column in columns]).reshape(len(columns), len(frame)).T


def distinct_rows(*columns: FloatArray | IntArray) -> tuple[IntArray, IntArray]:
    """Rows that are alike: by hashing, column after column, several times as fast as `numpy.unique` along an axis, which sorts.

    Parameters
    ----------
    *columns : array, shape (n_rows,)
        At least one; NaN equals NaN.

    Returns
    -------
    array of int, shape (n_rows,)
        Number of each row, equal where all its values are, from 0 in the order of appearance.
    array of int, shape (n_distinct,)
        The first row of each number.
    """
    import pandas as pd  # not above: what starts without tables stays light

    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    n_known = min(len(numbers), 1)
    for values in columns:
        if (values == values[:1]).all():
            continue
        own, distinct = pd.factorize(values, use_na_sentinel=False)
        numbers = own if n_known == 1 else pd.factorize(numbers * len(distinct) + own)[0]
        n_known = int(numbers.max()) + 1
    # In the order of appearance, each new number is the largest so far.
    return numbers, np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))


def rounded(values: FloatArray, digits: int) -> FloatArray:
    """Each value to ``digits`` significant digits, as the double nearest to that decimal number."""
    return np.array([float(f"{value:.{digits}g}") for value in np.ravel(values)]).reshape(np.shape(values))
