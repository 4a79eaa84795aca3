"""What no model can go beyond: repeats that differ, and programs that a feature set cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.models.estimators.learning.groups import GroupScores, group_of, group_scores
from mlperf.models.validation.scores import r2, rank_correlation, relative_errors

NAN = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class NoiseCeiling(Shown):
    """One half of the repeats taken as the prediction of the other half; fractions, NaN where there are no repeats.

    Attributes
    ----------
    r2, mape, rank : float
        R², MAPE and rank correlation between the halves: no model can honestly be better.
    twin_r2, twin_mape : float
        The same from programs measured twice under other names: 1 - (squares inside pairs) / (all squares), and the error of one
        twin as the prediction of the other.
    n_rows, n_twins : int
        Rows with repeats; rows that have a twin.
    """

    r2: float
    mape: float
    rank: float
    twin_r2: float
    twin_mape: float
    n_rows: int
    n_twins: int


def noise_ceiling(half_a_s: FloatArray, half_b_s: FloatArray, time_s: FloatArray, groups: ArrayLike) -> NoiseCeiling:
    """Compare two halves of the repeats, and twins.

    Parameters
    ----------
    half_a_s, half_b_s : array, shape (n_rows,)
        Means of two halves of the repeats; NaN without repeats.
    time_s : array, shape (n_rows,)
        Means of all.
    groups : array-like, shape (n_rows,)
        Equal for twins.
    """
    known = np.isfinite(half_a_s) & np.isfinite(half_b_s)
    twins = pd.Series(time_s).groupby(np.asarray(groups)).transform("size").to_numpy() > 1
    twin_r2, twin_mape = twin_agreement(time_s[twins], np.asarray(groups)[twins])
    if known.sum() < 2:
        return NoiseCeiling(NAN, NAN, NAN, twin_r2, twin_mape, 0, int(twins.sum()))
    first, second = half_a_s[known], half_b_s[known]
    return NoiseCeiling(
        r2(first, second),
        relative_errors(first, second).mape,
        rank_correlation(first, second),
        twin_r2,
        twin_mape,
        int(known.sum()),
        int(twins.sum()),
    )


def twin_agreement(time_s: FloatArray, groups: Any) -> tuple[float, float]:
    """R² of the groups' means, and the mean error of a twin as the prediction of the others; NaN without twins."""
    if len(time_s) < 2:
        return NAN, NAN
    grouped = pd.Series(time_s).groupby(groups)
    total, size = grouped.transform("sum").to_numpy(), grouped.transform("size").to_numpy()
    others = (total - time_s) / (size - 1)
    return equal_feature_ceiling(pd.DataFrame({"group": groups}), time_s), relative_errors(others, time_s).mape


def equal_feature_ceiling(features: pd.DataFrame, y: FloatArray) -> float:
    """R² that a model of these columns could reach at best: 1 - (squares inside rows of equal features) / (all squares).

    Parameters
    ----------
    features : DataFrame, shape (n_rows, n_columns)
        What the model sees; rows that are equal get one prediction from any model.
    y : array, shape (n_rows,)
        The response.

    Returns
    -------
    float
        1 where every row differs from every other.
    """
    keys = pd.util.hash_pandas_object(features, index=False).to_numpy()
    means = pd.Series(y).groupby(keys).transform("mean").to_numpy()
    total = float(np.sum((y - y.mean()) ** 2))
    return 1.0 - float(np.sum((y - means) ** 2)) / total if total > 0 else NAN


def distinct_rows(features: pd.DataFrame) -> int:
    """Rows of features that differ."""
    return int(pd.util.hash_pandas_object(features, index=False).nunique())


def group_ceiling(half_a_s: FloatArray, half_b_s: FloatArray, edges: FloatArray) -> GroupScores | None:
    """Groups by one half of the repeats against groups by the other; None without repeats."""
    known = np.isfinite(half_a_s) & np.isfinite(half_b_s)
    if not known.any():
        return None
    return group_scores(group_of(half_a_s[known], edges), group_of(half_b_s[known], edges), len(edges) + 1)
