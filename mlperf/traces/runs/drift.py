"""A machine that gets slower, or faster, while it measures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray

SURE = 0.01
"""Chance of seeing a drift where there is none, below which it is said."""
FEWEST = 6


@dataclass(frozen=True, slots=True)
class Drift:
    """A steady change of times with their order.

    Attributes
    ----------
    change : float
        From the first value to the last, a fraction: 0.1 is 10 % slower at the end.
    p_value : float
        Chance of a change this large without any drift; NaN for fewer than six values.
    """

    change: float
    p_value: float

    @property
    def is_present(self) -> bool:
        """Whether it is there beyond chance."""
        return self.p_value < SURE


def find_drift(times: FloatArray, place: FloatArray, groups: IntArray | BoolArray) -> Drift:
    """Look for a steady drift in what runs took.

    ln t_i = g(i) + s x_i + e_i is fitted by least squares, with a mean g for each group and x the place in the order of runs.

    Parameters
    ----------
    times : array, shape (n,)
        What each run took, > 0.
    place : array, shape (n,)
        Place in the order of runs.
    groups : array of int or bool, shape (n,)
        Which of the programs it was.
    """
    freedom = len(times) - len(np.unique(groups)) - 1
    if len(times) < FEWEST or freedom < 1:
        return Drift(float("nan"), float("nan"))
    logs, at = _centred(np.log(times), groups), _centred(np.asarray(place, dtype=float), groups)
    weight = float(at @ at)
    if weight <= 0:
        return Drift(float("nan"), float("nan"))
    slope = float(at @ logs) / weight
    rest = logs - slope * at
    error = math.sqrt(float(rest @ rest) / freedom / weight)
    change = math.expm1(slope * (float(np.max(place)) - float(np.min(place))))
    return Drift(change, _p_value(slope, error, freedom))


def _p_value(slope: float, error: float, freedom: int) -> float:
    from scipy.stats import t

    if error <= 0:
        return 1.0 if slope == 0 else 0.0
    return float(2 * t.sf(abs(slope) / error, freedom))


def _centred(values: FloatArray, groups: IntArray | BoolArray) -> FloatArray:
    """Values less the mean of their group."""
    _, group = np.unique(groups, return_inverse=True)
    means = np.bincount(group, weights=values) / np.bincount(group)
    return np.asarray(values - means[group])
