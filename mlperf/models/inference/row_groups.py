"""Which rows of a fit belong together: groups that somebody named, and rows that repeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.models.validation.folds import configuration_groups


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """What says which rows of a fit belong together.

    Parameters
    ----------
    columns : mapping of str to array, each of shape (n_given,)
        What the candidate terms read.
    rows : array of int, shape (n_weighted,)
        Rows of the fit.
    named : array of int, shape (n_given,), or None
        Group of every row; None where nobody named groups.
    """

    columns: Mapping[str, Any]
    rows: IntArray
    named: IntArray | None

    def groups(self) -> IntArray | None:
        """Group of each row of the fit counted from 0, shape (n_weighted,); None where nobody named groups."""
        return None if self.named is None else np.unique(self.named[self.rows], return_inverse=True)[1].astype(np.int64)

    def configurations(self) -> IntArray:
        """The same number for rows that are equal in every column, shape (n_weighted,)."""
        if not self.columns:
            return np.zeros(len(self.rows), dtype=np.int64)
        return configuration_groups(pd.DataFrame({name: np.asarray(values)[self.rows] for name, values in self.columns.items()}))


def group_numbers(groups: ArrayLike, n_rows: int) -> IntArray:
    """Number of each row's group in sorted order, shape (n_rows,).

    Raises
    ------
    DataError
        Another number of values than rows, or a missing one.
    """
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise DataError(f"got groups of shape {labels.shape}, expected one for each of the {n_rows} rows")
    numbers = pd.factorize(labels, sort=True)[0].astype(np.int64)
    if (numbers < 0).any():
        raise DataError("got no value, expected the row's group", place=f"groups, row {int(np.argmin(numbers))}")
    return numbers
