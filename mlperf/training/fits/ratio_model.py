"""A fitted estimator whose predictions are rescaled so that the total of the training times is preserved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.json_fields import Fields
from mlperf.models.regressor import fit_in_groups
from mlperf.models.storage.store import model_from_dict, model_to_dict
from mlperf.models.uncertainty.domain import DomainCheck
from mlperf.models.uncertainty.intervals import Interval

LARGEST_SCALE = 1e6
"""More than any total of measured times was ever off by."""


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """``total_scale`` times the prediction of ``estimator``.

    Weights 1/t**2 fit a location below the mean when noise is skewed; sums of components need means.
    """

    estimator: Any
    total_scale: float

    def predict(self, rows: pd.DataFrame) -> FloatArray:
        """Seconds, shape (n_rows,)."""
        return self.total_scale * np.asarray(self.estimator.predict(rows), float)

    def in_domain(self, rows: pd.DataFrame) -> BoolArray:
        """Whether each row lies inside the measured domain."""
        return np.asarray(self.estimator.in_domain(rows), bool)

    def domain_check(self, rows: pd.DataFrame) -> DomainCheck:
        """Which rows lie inside the measured domain, and for the others why not."""
        found: DomainCheck = self.estimator.domain_check(rows)
        return found

    def predict_interval(self, rows: pd.DataFrame, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of the mean or of a run of each row, shape (n_rows,)."""
        found = self.estimator.predict_interval(rows, kind=kind, level=level)
        return Interval(self.total_scale * found.lower, self.total_scale * found.upper, level)

    def sample(self, rows: pd.DataFrame, rng: np.random.Generator, size: int, kind: str) -> FloatArray:
        """Joint draws of the rows' mean (``kind="mean"``) or of a run (``"run"``): seconds, shape (size, n_rows)."""
        return self.total_scale * np.asarray(self.estimator.sample(rows, rng, size, kind=kind), float)


@dataclass(frozen=True, slots=True)
class TotalKeeping:
    """An unfitted ``estimator`` whose fit is rescaled to preserve the total of the training times, where ``keep_totals``."""

    estimator: Any
    keep_totals: bool

    def fit(self, rows: pd.DataFrame, times_s: FloatArray, groups: ArrayLike | None = None) -> Scaled:
        """Fit to ``rows`` and ``times_s``, shape (n_rows,); equal ``groups`` belong together where the estimator uses them."""
        fit_in_groups(self.estimator, rows, times_s, groups)
        if not self.keep_totals:
            return Scaled(self.estimator, 1.0)
        return Scaled(self.estimator, float(times_s.sum() / np.asarray(self.estimator.predict(rows), float).sum()))


Fits = Mapping[str, Mapping[str, Scaled]]


def scaled_to_dict(fit: Scaled) -> dict[str, Any]:
    """JSON types; `scaled_from_dict` reads them back."""
    return {"total_scale": fit.total_scale, "model": model_to_dict(fit.estimator)}


def scaled_from_dict(value: Any, path: str) -> Scaled:
    """The inverse of `scaled_to_dict`; DataError with the JSON path of what is wrong."""
    with Fields(value, path) as fields:
        return Scaled(
            model_from_dict(fields.raw("model"), f"{path}.model"), fields.number("total_scale", lower=0.0, upper=LARGEST_SCALE)
        )


def fits_to_dict(fits: Fits) -> dict[str, Any]:
    """JSON types of fits by two names."""
    return {outer: {inner: scaled_to_dict(fit) for inner, fit in each.items()} for outer, each in fits.items()}


def fits_from_dict(value: Any, path: str) -> dict[str, dict[str, Scaled]]:
    """The inverse of `fits_to_dict`."""
    return {
        outer: {
            name: scaled_from_dict(value[outer][name], f"{path}.{outer}.{name}")
            for name in Fields(value[outer], f"{path}.{outer}").names
        }
        for outer in Fields(value, path).names
    }
