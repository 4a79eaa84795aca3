"""How far beyond the measured sizes the errors of extrapolated rows were tested, and how much wider intervals are further out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.json_fields import Fields
from mlperf.models.validation.folds import Fold
from mlperf.training.table.screening import is_number

LEAST_TESTED = float(np.log(2.0))
"""Rows of nearly equal sizes lie beyond each other by next to nothing; up to twice the measured sizes no interval widens."""
MOST_WIDER = 10.0
"""Times the tested distance and more: an interval that wide says that nobody knows."""


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Measured ranges, and the distance beyond them at which left-out rows lay.

    Attributes
    ----------
    names : tuple of str
        Columns of numbers.
    lower, upper : array, shape (1 + len(names),)
        Measured ranges of the time, then of the columns.
    tested : float
        Largest log distance of a left-out row beyond the rows that its fit had learnt from.
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    tested: float

    @classmethod
    def of(cls, frame: pd.DataFrame, times: FloatArray, folds: Iterable[Fold]) -> Reach:
        """Ranges of some rows, and how far the tested rows of each fold lie beyond those that it learns from.

        Parameters
        ----------
        frame : DataFrame, shape (n_rows, n_columns)
        times : array, shape (n_rows,)
            Positive.
        folds : iterable of Fold
            Rows that were left out to see how extrapolated ones err.
        """
        names = tuple(str(name) for name in frame if is_number(frame[name]))
        values = np.column_stack([times, frame[list(names)].to_numpy(float)])
        far = [_distance(values[fold.test], values[fold.train].min(axis=0), values[fold.train].max(axis=0)).max() for fold in folds]
        return cls(names, values.min(axis=0), values.max(axis=0), max(LEAST_TESTED, *far))

    def wider(self, frame: pd.DataFrame, times: FloatArray) -> FloatArray:
        """Factor on the log half-widths of rows predicted to take ``times``, shape (n_rows,): distance over the tested one.

        1 up to the tested distance: the error of a wrong exponent grows in proportion to the logarithm of what lies between.
        """
        values = np.column_stack([times, frame[list(self.names)].to_numpy(float)])
        return np.clip(_distance(values, self.lower, self.upper) / self.tested, 1.0, MOST_WIDER)

    def to_dict(self) -> dict[str, Any]:
        """JSON types; `from_dict` reads them back."""
        return {"names": list(self.names), "lower": self.lower.tolist(), "upper": self.upper.tolist(), "tested": self.tested}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Reach:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            names = fields.texts("names")
            lower, upper = (fields.numbers(key, 1 + len(names)) for key in ("lower", "upper"))
            return cls(names, lower, upper, fields.number("tested", lower=LEAST_TESTED))


def _distance(values: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Largest log distance of each row beyond the ranges of columns, shape (n_rows,); 0 inside.

    Between positive values the logarithm of their ratio, else that of one and the excess in widths of the range.
    """
    width = np.where(upper > lower, upper - lower, np.maximum(np.abs(upper), 1.0))
    beyond = np.log1p(np.maximum(np.maximum(lower - values, values - upper), 0.0) / width)
    positive = (values > 0.0) & (lower > 0.0)
    safe, low, high = np.where(positive, values, 1.0), np.where(lower > 0.0, lower, 1.0), np.where(upper > 0.0, upper, 1.0)
    ratio = np.maximum(np.maximum(np.log(safe / high), np.log(low / safe)), 0.0)
    return np.asarray(np.where(positive, ratio, beyond).max(axis=1))
