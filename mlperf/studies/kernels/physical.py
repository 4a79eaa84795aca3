"""The model that explains itself: time from instructions issued, cache misses and TLB misses, each with a cost one can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.regressor import Regressor
from mlperf.models.validation.folds import Fold
from mlperf.models.validation.left_out import left_out
from mlperf.models.validation.scores import r2, rank_correlation, relative_errors
from mlperf.studies.kernels.feature_sets import inner_columns, nest_columns
from mlperf.studies.kernels.tables.kernel_times import KernelTimes

PHYSICAL = ("instructions", "l1_misses", "tlb_misses")
NANOSECOND_S = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PhysicalModel(Shown):
    """Time per execution of the innermost statement as a sum of three costs.

    Attributes
    ----------
    coefficients : DataFrame
        ``term``, ``cost_ns`` (nanoseconds for each instruction, line or page), ``std_err``, ``t_value``, ``p_value``, ``vif``.
    r2_adj : float
        In sample.
    cv_r2, mape, rank : float
        Of left-out rows, no coefficient below zero.
    n_rows : int
        Rows.
    """

    coefficients: pd.DataFrame
    r2_adj: float
    cv_r2: float
    mape: float
    rank: float
    n_rows: int

    def to_frame(self) -> pd.DataFrame:
        """The coefficient table."""
        return self.coefficients


def _physical_terms(times: KernelTimes) -> pd.DataFrame:
    """Instructions issued, lines missed in the first level and pages missed in the TLB, per iteration, shape (n_rows, 3)."""
    inner, nest = inner_columns(times), nest_columns(times)
    values = (inner["mix_all"].to_numpy(), nest["l1_misses"].to_numpy(), nest["tlb_misses"].to_numpy())
    return pd.DataFrame(dict(zip(PHYSICAL, values, strict=True)))


def physical_model(times: KernelTimes, folds: Sequence[Fold]) -> PhysicalModel | None:
    """Fit the three costs; None without counts or where a term does not vary."""
    try:
        terms = _physical_terms(times)
    except DataError:
        return None
    if terms.nunique().min() < 2:
        return None
    ns = times.time_s / times.iterations / NANOSECOND_S
    report = StepwiseOLS(list(PHYSICAL), lower=list(PHYSICAL), report="none").fit(terms, ns).report_
    table = report.coefficients.reset_index()[["term", "coef", "std_err", "t_value", "p_value", "vif"]]
    answers = left_out(unsigned, terms, ns, times.groups, folds, domain=False, equal_rows=True)
    return PhysicalModel(
        table.rename(columns={"coef": "cost_ns"}),
        float(report.r2_adj),
        r2(answers.predicted, ns),
        relative_errors(np.maximum(answers.predicted, 0.0), ns).mape,
        rank_correlation(answers.predicted, ns),
        len(ns),
    )


def unsigned() -> Regressor:
    """Least squares without negative costs."""
    return NonNegativeOLS(list(PHYSICAL), n_draws=0, n_folds=0)
