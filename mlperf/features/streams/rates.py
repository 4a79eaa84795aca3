"""Counters as rates per second between two samples; gauges as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.datasets.streams.columns import COUNTER, column_of


class Rates:
    """Turns one sample after the other into rates.

    Parameters
    ----------
    columns : sequence of str
        Of every sample, in order.
    already : bool
        Whether counters come as rates.

    Attributes
    ----------
    is_counter : bool array, shape (n_columns,)
    n_resets : int
        Samples in which a counter fell; its rate then counts as 0.
    """

    def __init__(self, columns: Sequence[str], *, already: bool = False) -> None:
        self.columns = tuple(columns)
        self.is_counter = np.array([column_of(name).kind == COUNTER for name in columns], dtype=bool)
        self.n_resets = 0
        self._already = already
        self._before: tuple[float, FloatArray] | None = None

    def push(self, t_s: float, values: FloatArray) -> FloatArray | None:
        """Take in a sample, shape (n_columns,); returns rates per second and gauges, None for a first sample of counters.

        Raises
        ------
        UsageError
            A sample that is not later than the one before.
        """
        before, self._before = self._before, (t_s, values)
        if self._already:
            return values
        if before is None:
            return None
        if not t_s > before[0]:
            raise UsageError(f"got a sample at {t_s} s after one at {before[0]} s, expected a later one")
        grown = values - before[1]
        self.n_resets += bool((grown[self.is_counter] < 0).any())
        return np.where(self.is_counter, np.maximum(grown, 0.0) / (t_s - before[0]), values)
