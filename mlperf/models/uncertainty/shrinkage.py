"""Shifts of groups, shrunk towards the common one as far as their rows cannot tell them from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True, eq=False)
class Shrunk(Shown):
    """Shifts of groups, each array of shape (n_groups,).

    Attributes
    ----------
    shift : array
        Mean of each group times its weight.
    weight : array
        Between 0 (the group is like all others) and 1 (its own mean is believed).
    between_std, within_std : float
        Standard deviation of the groups' true shifts, and of rows inside a group.
    """

    shift: FloatArray
    weight: FloatArray
    between_std: float
    within_std: float


def shrunken_shifts(residuals: FloatArray, group_of: IntArray, n_groups: int) -> Shrunk:
    """Empirical Bayes shifts of groups whose common shift is zero.

    Rows are ``residual = shift of the group + noise``; shifts and noise have mean zero, and their variances are estimated by
    moments: noise from rows inside groups, shifts from what the squared group means exceed the noise by.

    Parameters
    ----------
    residuals : array, shape (n_rows,)
        About the common value.
    group_of : array of int, shape (n_rows,)
        From 0 to ``n_groups`` - 1.
    n_groups : int
        A group without rows has shift and weight 0.

    Returns
    -------
    Shrunk
        Weights are 0 where no group has two rows: nothing tells shifts from noise then.

    References
    ----------
    Efron and Morris (1975), Data analysis using Stein's estimator; the unequal-variance form of Swamy and Arora's moments.
    """
    n_of = np.bincount(group_of, minlength=n_groups).astype(float)
    mean = np.bincount(group_of, residuals, minlength=n_groups) / np.maximum(n_of, 1.0)
    n_known = int(np.count_nonzero(n_of))
    freedom = len(residuals) - n_known
    if freedom < 1:
        return Shrunk(np.zeros(n_groups), np.zeros(n_groups), 0.0, float(np.sqrt(np.mean(np.square(residuals)))))
    within = float(np.sum(np.square(residuals - mean[group_of]))) / freedom
    between = max(0.0, (float(np.sum(n_of * np.square(mean))) - n_known * within) / len(residuals))
    # As a fraction whose parts are 0 only together: groups without rows have weight 0.
    total = between * n_of + within
    weight = np.divide(between * n_of, total, out=np.zeros(n_groups), where=total > 0.0)
    return Shrunk(weight * mean, weight, float(np.sqrt(between)), float(np.sqrt(within)))
