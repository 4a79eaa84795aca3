"""The noise floor: how far two disjoint halves of the same campaign differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True)
class NoiseFloor(Shown):
    """Error of the median over odd rounds as a prediction of the median over even rounds.

    Attributes
    ----------
    mape : float
        Mean relative error, a fraction; NaN below two rounds.
    median, p90 : float
        Of the relative errors.
    n_configurations, n_rounds : int
        What it rests on.
    """

    mape: float
    median: float
    p90: float
    n_configurations: int
    n_rounds: int


def noise_floor(frame: pd.DataFrame, key: Sequence[str], target: str) -> NoiseFloor:
    """Compare odd with even rounds; below this error there is nothing to claim.

    Parameters
    ----------
    frame : DataFrame
        With ``key``, ``round`` and ``target``.
    key : sequence of str
        Columns that name a configuration.
    target : str
        Column of times, seconds > 0.
    """
    is_odd = frame["round"] % 2 == 1
    odd, even = (part.groupby(list(key))[target].median() for part in (frame[is_odd], frame[~is_odd]))
    both = pd.concat([odd, even], axis=1, keys=["odd", "even"], join="inner")
    n_rounds = int(frame["round"].nunique())
    if both.empty:
        return NoiseFloor(float("nan"), float("nan"), float("nan"), 0, n_rounds)
    errors = (both["odd"] / both["even"] - 1).abs().to_numpy(float)
    return NoiseFloor(float(errors.mean()), float(np.median(errors)), float(np.quantile(errors, 0.9)), len(errors), n_rounds)
