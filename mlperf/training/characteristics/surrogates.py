"""Counters of kernels that were never run, from their loop nests; those of library layers from their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets.dictionary.schema import LIBRARY_GEMMS
from mlperf.features.network.kernels import MEMORY_TERMS as SIZE_TERMS
from mlperf.features.network.layer_terms import LIBRARY_TERMS
from mlperf.features.network_engine import DYNAMIC_COLUMNS
from mlperf.features.network_engine.sets import STATIC_S
from mlperf.models import StepwiseOLS
from mlperf.training.fits.ratio_model import Fits, Scaled, TotalKeeping

MEMORY_TERMS = ("access_bytes", *(column.name for column in STATIC_S))
GEMM_TERMS = ("groups * m * n * k", "groups * m * k", "groups * k * n", "groups * m * n", *(column.name for column in STATIC_S[:4]))


@dataclass(frozen=True, slots=True, eq=False)
class Surrogates:
    """Fitted counters: ``models[kernel][counter]`` predicts the counter of one call, plus one."""

    models: Fits

    def columns(self, calls: pd.DataFrame) -> pd.DataFrame:
        """Predicted counters of kernel calls with what they were fitted on, on the calls' index; >= 0."""
        known = {name for each in self.models.values() for name in each}
        found = pd.DataFrame(0.0, index=calls.index, columns=[name for name in DYNAMIC_COLUMNS if name in known])
        for kernel, rows in calls.groupby("kernel", sort=False):
            for counter, model in self.models.get(str(kernel), {}).items():
                predicted: FloatArray = np.maximum(model.predict(rows) - 1.0, 0.0)
                found.loc[rows.index, counter] = predicted
        return found

    def replaced(self, calls: pd.DataFrame) -> pd.DataFrame:
        """Kernel calls with these counters in place of measured ones."""
        predicted = self.columns(calls)
        return calls.assign(**{str(name): predicted[name] for name in predicted})


def fit_surrogates(calls: pd.DataFrame, counters: Sequence[str] = DYNAMIC_COLUMNS) -> Surrogates:
    """Fit every counter of every kernel on the kernel's sizes and, where the calls have one, on the cache model.

    Parameters
    ----------
    calls : DataFrame
        Kernel calls with their sizes, static characteristics (not of library layers) and counters.
    counters : sequence of str
        Columns to fit; those that are absent are left out.
    """
    present = [name for name in counters if name in calls]
    models: dict[str, dict[str, Any]] = {}
    for kernel, rows in calls.groupby("kernel", sort=True):
        terms = surrogate_terms(str(kernel), rows)
        models[str(kernel)] = {name: _fit(rows, terms, name) for name in present}
    return Surrogates(models)


def surrogate_terms(kernel: str, rows: pd.DataFrame) -> tuple[str, ...]:
    """Candidate terms of a kernel's counters: sizes with the cache model, or the sizes of a library's calls."""
    if STATIC_S[0].name in rows:
        return GEMM_TERMS if rows["m"].iloc[0] else MEMORY_TERMS
    return LIBRARY_TERMS if kernel in LIBRARY_GEMMS else SIZE_TERMS


def _fit(rows: pd.DataFrame, terms: tuple[str, ...], counter: str) -> Scaled:
    estimator = StepwiseOLS(terms=terms, noise="relative", report="none")
    return TotalKeeping(estimator, keep_totals=True).fit(rows, rows[counter].to_numpy(float) + 1.0)
