"""How long steps take that are not in the trace, from those that are; and how well the first half of them tells the second."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray

LEVEL = 0.9
KS_FACTOR = 1.358
"""Of the 5 % point of the two-sample Kolmogorov-Smirnov distance."""
LEAST_STEPS = 2


@dataclass(frozen=True, slots=True)
class StepForecast:
    """The time of a further step.

    Attributes
    ----------
    mean_s, std_s : float
        Mean and standard deviation of the steps, seconds.
    lower_s, upper_s : float
        Interval of one further step at `level`; NaN where there are too few steps.
    level : float
        Nominal coverage.
    n_steps : int
        Steps it comes from.
    """

    mean_s: float
    std_s: float
    lower_s: float
    upper_s: float
    level: float
    n_steps: int


@dataclass(frozen=True, slots=True)
class HalvesCheck:
    """The first half of the steps as forecast of the second.

    Attributes
    ----------
    mean_error : float
        (forecast mean - mean of the second half) over the latter; NaN where there are too few steps.
    coverage : float
        Share of the second half inside the interval.
    ks, ks_point : float
        Kolmogorov-Smirnov distance between the halves, and what it exceeds in 5 % of the cases where nothing has changed.
    """

    mean_error: float
    coverage: float
    ks: float
    ks_point: float

    @property
    def holds(self) -> bool:
        """Whether the halves are as if from one distribution."""
        return self.ks <= self.ks_point


def forecast_steps(step_s: FloatArray, level: float = LEVEL) -> StepForecast:
    """Forecast a further step: mean, and the normal interval of one more draw (Student's t, unknown mean and variance).

    Parameters
    ----------
    step_s : array, shape (n_steps,)
        Step times in seconds, in order.
    level : float
        Nominal coverage of the interval.
    """
    from scipy.stats import t

    mean, n_steps = float(np.mean(step_s)), len(step_s)
    if n_steps < LEAST_STEPS:
        return StepForecast(mean, math.nan, math.nan, math.nan, level, n_steps)
    std = float(np.std(step_s, ddof=1))
    half = float(t.ppf(0.5 + level / 2.0, n_steps - 1)) * std * math.sqrt(1.0 + 1.0 / n_steps)
    return StepForecast(mean, std, mean - half, mean + half, level, n_steps)


def check_halves(step_s: FloatArray, level: float = LEVEL) -> HalvesCheck:
    """Forecast the second half of the steps from the first."""
    half = len(step_s) // 2
    if half < LEAST_STEPS:
        return HalvesCheck(math.nan, math.nan, math.nan, math.nan)
    first, second = step_s[:half], step_s[half:]
    told = forecast_steps(first, level)
    inside = (second >= told.lower_s) & (second <= told.upper_s)
    return HalvesCheck(
        mean_error=told.mean_s / float(np.mean(second)) - 1.0,
        coverage=float(np.mean(inside)),
        ks=ks_distance(first, second),
        ks_point=KS_FACTOR * math.sqrt((len(first) + len(second)) / (len(first) * len(second))),
    )


def ks_distance(first: FloatArray, second: FloatArray) -> float:
    """Largest distance between two empirical distribution functions."""
    from scipy.stats import ks_2samp

    return float(ks_2samp(first, second, method="asymp").statistic)


def mean_interval(values: FloatArray) -> tuple[float, float]:
    """Interval of the mean of consecutive steps, 95 %.

    Neighbouring steps resemble each other, so that n steps count as n (1 - r) / (1 + r), r their correlation with the one before.

    Parameters
    ----------
    values : array, shape (n_steps,)
        In the order of the steps.

    Returns
    -------
    tuple of float
        Lower and upper end; NaN where there are fewer than two steps.
    """
    from scipy.stats import t

    n_steps = len(values)
    if n_steps < LEAST_STEPS:
        return math.nan, math.nan
    apart = values - values.mean()
    square = float(apart @ apart)
    lag = float(apart[1:] @ apart[:-1]) / square if square > 0 else 0.0
    effective = max(float(LEAST_STEPS), n_steps * (1.0 - max(lag, 0.0)) / (1.0 + max(lag, 0.0)))
    half = float(t.ppf(0.975, effective - 1.0)) * math.sqrt(square / (n_steps - 1) / effective)
    mean = float(values.mean())
    return mean - half, mean + half
