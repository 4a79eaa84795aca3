"""A whole series through the forecaster, step by step: what each member would have scored had it run live."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.models.online.forecaster import HEDGE, Forecast, Forecaster, ForecasterSettings
from mlperf.models.online.members import Shape


@dataclass(frozen=True, slots=True, eq=False)
class Prequential(Shown):
    """Scores of one series at one horizon.

    Attributes
    ----------
    horizon_steps, n_scored : int
        Samples ahead, and forecasts whose outcome is known.
    mase, mape, log_error : mapping
        By name of the member, the hedge included: mean absolute scaled error, mean absolute relative error of performance, mean
        absolute error of its logarithm.
    coverage : float
        Share of outcomes inside their interval.
    forecasts : tuple of Forecast
        All that were made.
    """

    horizon_steps: int
    n_scored: int
    mase: dict[str, float]
    mape: dict[str, float]
    log_error: dict[str, float]
    coverage: float
    forecasts: tuple[Forecast, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row a member: MASE, relative error, error of the logarithm."""
        names = [HEDGE, *(name for name in self.mase if name != HEDGE)]
        columns = {"mase": self.mase, "mape": self.mape, "log_error": self.log_error}
        return pd.DataFrame({"forecast": names, **{key: [found[name] for name in names] for key, found in columns.items()}})


def prequential(
    levels: Iterable[float],
    terms: Iterable[FloatArray],
    horizon_steps: int,
    shape: Shape,
    settings: ForecasterSettings | None = None,
) -> Prequential:
    """Forecast a series as if it came in live.

    Parameters
    ----------
    levels : iterable of float, length n_samples
        Log performance.
    terms : iterable of array, each of shape (n_performance + n_counters,)
        Known with each sample.
    horizon_steps : int
        Samples ahead.
    shape : Shape
        Numbers of terms.
    settings : ForecasterSettings, optional
        Members, hedge, level of the interval.
    """
    forecaster = Forecaster(horizon_steps, shape, settings)
    forecasts = tuple(forecaster.step(level, row) for level, row in zip(levels, terms, strict=True))
    errors = forecaster.errors
    return Prequential(
        horizon_steps,
        errors[HEDGE].n,
        {name: found.mase for name, found in errors.items()},
        {name: found.mape for name, found in errors.items()},
        {name: found.log_error for name, found in errors.items()},
        forecaster.interval.coverage,
        forecasts,
    )
