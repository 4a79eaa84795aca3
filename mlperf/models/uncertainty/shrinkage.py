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
    found = shrunken_samples(residuals[None], group_of[None], n_groups)
    return Shrunk(found.shift[0], found.weight[0], float(found.between_std[0]), float(found.within_std[0]))


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkSamples(Shown):
    """`Shrunk` of several samples: shifts and weights of shape (n_samples, n_groups), deviations of shape (n_samples,)."""

    shift: FloatArray
    weight: FloatArray
    between_std: FloatArray
    within_std: FloatArray


def shrunken_samples(residuals: FloatArray, group_of: IntArray, n_groups: int) -> ShrunkSamples:
    """`shrunken_shifts` of each of several samples of equally many rows: both arrays have shape (n_samples, n_rows)."""
    n_samples, n_rows = residuals.shape
    cells = (group_of + n_groups * np.arange(n_samples)[:, None]).ravel()
    n_of = np.bincount(cells, minlength=n_samples * n_groups).reshape(n_samples, n_groups).astype(float)
    sums = np.bincount(cells, residuals.ravel(), minlength=n_samples * n_groups).reshape(n_samples, n_groups)
    mean = sums / np.maximum(n_of, 1.0)
    n_known = np.count_nonzero(n_of, axis=1)
    freedom = n_rows - n_known
    told = freedom > 0
    about = np.where(told[:, None], residuals - np.take_along_axis(mean, group_of, axis=1), residuals)
    within = np.sum(np.square(about), axis=1) / np.where(told, freedom, n_rows)
    exceeding = (np.sum(n_of * np.square(mean), axis=1) - n_known * within) / n_rows
    between = np.where(told & (exceeding > 0.0), exceeding, 0.0)
    # As a fraction whose parts are 0 only together: groups without rows have weight 0.
    signal = between[:, None] * n_of
    total = signal + within[:, None]
    weight = np.divide(signal, total, out=np.zeros(n_of.shape), where=total > 0.0)
    return ShrunkSamples(np.where(told[:, None], weight * mean, 0.0), weight, np.sqrt(between), np.sqrt(within))
