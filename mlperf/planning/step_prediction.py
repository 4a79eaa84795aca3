"""Interval of a step's time from the errors seen on CNNs that were left out."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.models.uncertainty.intervals import Interval
from mlperf.training.model import GradientScore


def step_interval(score: GradientScore, method: str, predicted_s: FloatArray, level: float = 0.95) -> Interval:
    """Prediction interval of a measured step of a CNN that was not trained on.

    Parameters
    ----------
    score : GradientScore
        Log errors of left-out CNNs.
    method : str
        Whose errors.
    predicted_s : array, shape (n_steps,)
        Seconds.
    level : float
        In (0, 1).

    Returns
    -------
    Interval
        Seconds, shape (n_steps,). Distribution free: the (1 - level)/2 tails of the left-out log errors, at the
        conformal ranks (n + 1) q, so that a new error falls outside with at most that probability.

    References
    ----------
    Lei et al., Distribution-free predictive inference for regression, 2018 (split conformal, asymmetric).
    """
    residuals = np.sort(score.log_residuals(method))
    n = len(residuals)
    tail = 0.5 * (1.0 - level)
    low = max(int(np.floor((n + 1) * tail)), 1) - 1
    high = min(int(np.ceil((n + 1) * (1.0 - tail))), n) - 1
    return Interval(predicted_s * np.exp(residuals[low]), predicted_s * np.exp(residuals[high]), level)
