"""Time to a target accuracy: epochs to the target times the time of an epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.shown import Shown
from mlperf.training.quality.quality_model import QualityModel


@dataclass(frozen=True, slots=True, eq=False)
class TimeToTarget(Shown):
    """Time to the target accuracy; arrays of one shape.

    Attributes
    ----------
    seconds : array
        Median over runs.
    lower_s, upper_s : array
        Interval of one run's epochs, the time of an epoch taken as given.
    in_domain : array of bool
        Whether mini-batch and staleness lie inside what the learning runs covered.
    """

    seconds: FloatArray
    lower_s: FloatArray
    upper_s: FloatArray
    in_domain: BoolArray


def time_to_target(
    quality: QualityModel,
    epoch_s: FloatArray,
    mean_minibatch_size: FloatArray,
    mean_staleness: FloatArray,
    subbatch_size: FloatArray | None = None,
    level: float = 0.95,
) -> TimeToTarget:
    """Seconds to the target accuracy of ``quality``; arrays that broadcast.

    Parameters
    ----------
    quality : QualityModel
    epoch_s : array
        T_Epoch, seconds.
    mean_minibatch_size : array
        Samples per update.
    mean_staleness : array
        Updates.
    subbatch_size : array, optional
        Samples of a gradient; needed where the model knows it.
    level : float
        Of the interval.
    """
    found = quality.predict(mean_minibatch_size, mean_staleness, subbatch_size, level)
    each_s = np.asarray(epoch_s, float)
    return TimeToTarget(found.epochs * each_s, found.lower * each_s, found.upper * each_s, found.in_domain)
