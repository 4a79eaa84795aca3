"""What a report says of the rows of a fit, small enough to be stored without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.inference.diagnostics import Test

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
TESTS = ("breusch_pagan", "white", "reset", "shapiro")


@dataclass(frozen=True, slots=True, eq=False)
class RowFigures(Shown):
    """Robust errors, inflation, and residuals in a few numbers.

    Attributes
    ----------
    std_err_hc3, vif : array, shape (rank,)
        Of the coefficients.
    residual_quarters : array, shape (5,)
        Smallest, first quartile, median, third quartile, largest (weighted) residual: fractions of the measured value under
        relative noise, else in the unit of y. Quartiles as R's ``quantile`` takes them.
    skewness, kurtosis : float
        Third and fourth moment of the residuals about their mean, standardised: 0 and 3 for normal ones.
    tests : mapping of str to Test
        Of the residuals, by name.
    durbin_watson, lag1_autocorrelation : float or None
        None where rows are not ordered in time.
    worst_rows : array of int, shape (n_worst,)
        Row numbers with the largest Cook's distances, largest first.
    cooks_distance : array, shape (n_worst,)
        Theirs.
    """

    std_err_hc3: FloatArray
    vif: FloatArray
    residual_quarters: FloatArray
    skewness: float
    kurtosis: float
    tests: Mapping[str, Test]
    durbin_watson: float | None
    lag1_autocorrelation: float | None
    worst_rows: IntArray
    cooks_distance: FloatArray

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str, rank: int) -> RowFigures:
        """What `to_dict` wrote of a fit with ``rank`` coefficients; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            worst = np.array(fields.integers("worst_rows"), dtype=np.int64)
            return cls(
                fields.numbers("std_err_hc3", rank, finite=False),
                fields.numbers("vif", rank, finite=False),
                fields.numbers("residual_quarters", len(QUARTERS)),
                fields.number("skewness", finite=False),
                fields.number("kurtosis", finite=False),
                _tests(fields.child("tests")),
                None if fields.absent("durbin_watson") else fields.number("durbin_watson", finite=False),
                None if fields.absent("lag1_autocorrelation") else fields.number("lag1_autocorrelation", finite=False),
                worst,
                fields.numbers("cooks_distance", len(worst), finite=False),
            )


def _tests(fields: Fields) -> dict[str, Test]:
    with fields:
        return {name: _test(fields.child(name)) for name in TESTS if name in fields.names}


def _test(fields: Fields) -> Test:
    with fields:
        # Where a test has too few rows its df may be below zero; its p-value is then NaN.
        df = fields.integers("df", lower=-(2**53))
        return Test(fields.number("statistic", finite=False), df, fields.number("p_value", finite=False))


def moments(residuals: FloatArray) -> tuple[float, float]:
    """Skewness and kurtosis (3 for normal values); NaN where all are equal."""
    centred = residuals - residuals.mean()
    largest = float(np.abs(centred).max(initial=0.0))
    if not largest > 0.0:
        return float("nan"), float("nan")
    squares = np.square(centred / largest)
    spread = float(squares.mean())
    return float((squares * centred).mean() / largest / spread**1.5), float(np.square(squares).mean() / spread**2)
