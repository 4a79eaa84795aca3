"""Workers of different speeds: the mean of the slowest of them, and rates that add."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr

from mlperf.core.arrays import FloatArray

N_POINTS = 257
REACH = 9.0


def slowest_mean_s(mean_s: Sequence[FloatArray], std_s: Sequence[FloatArray], counts: Sequence[FloatArray]) -> FloatArray:
    """Mean of the largest of independent normal times of several kinds of workers, E max = low + int (1 - prod F_i**n_i).

    Parameters
    ----------
    mean_s, std_s, counts : sequence of array
        One a kind: mean and standard deviation of a worker's time, seconds; workers of that kind (0: none). Arrays broadcast with
        the configurations.

    Returns
    -------
    array
        Seconds; the largest mean where nothing varies. The integral is a trapezoidal sum from 9 standard deviations below the
        largest mean to 9 above: 1e-6 standard deviations, 1e-4 where they differ tenfold.
    """
    kinds = [np.broadcast_arrays(*(np.asarray(each, float) for each in kind)) for kind in zip(mean_s, std_s, counts, strict=True)]
    shape = np.broadcast_shapes(*(kind[0].shape for kind in kinds))
    means, stds, numbers = (np.stack([np.broadcast_to(kind[part], shape) for kind in kinds]) for part in range(3))
    there, varies = numbers > 0.0, (numbers > 0.0) & (stds > 0.0)
    top = np.max(np.where(there, means, -np.inf), axis=0)
    widest = np.max(np.where(varies, stds, 0.0), axis=0)
    # Whoever does not vary is a floor: below it nobody can be the slowest.
    floor = np.max(np.where(there & ~varies, means, -np.inf), axis=0)
    low = np.maximum(top - REACH * widest, floor)
    step = (top + REACH * widest - low) / (N_POINTS - 1)
    total = np.zeros(shape)
    for point in range(N_POINTS):
        at = low + point * step
        reached = sum(
            np.where(own, number * log_ndtr((at - mean) / np.where(own, std, 1.0)), 0.0)
            for own, mean, std, number in zip(varies, means, stds, numbers, strict=True)
        )
        total += (0.5 if point in (0, N_POINTS - 1) else 1.0) * -np.expm1(reached)
    return np.asarray(low + total * step)
