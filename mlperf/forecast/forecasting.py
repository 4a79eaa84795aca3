"""One stream under forecast: samples go in, windows and forecasts come out; the same code live and replayed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets.streams.performance import Performance
from mlperf.features.streams.table import steps_ahead
from mlperf.features.streams.window import PERFORMANCE_TERMS, Window, Windows
from mlperf.models.online.forecaster import HEDGE, Forecast, Forecaster, ForecasterSettings
from mlperf.models.online.members import REFERENCE, Shape


@dataclass(frozen=True, slots=True)
class MemberState:
    """What a forecast is worth so far, for people who watch.

    Attributes
    ----------
    t_s : float
        Time of the newest sample, seconds.
    performance, forecast, lower, upper : float
        Now, and one horizon from now with its interval, in the performance's unit.
    n_scored : int
        Forecasts whose outcome is known.
    mase, mape, persistence_mape : float
        Errors so far; fractions.
    """

    t_s: float
    performance: float
    forecast: float
    lower: float
    upper: float
    n_scored: int
    mase: float
    mape: float
    persistence_mape: float

    @property
    def persistence_is_better(self) -> bool:
        """Whether expecting no change would have erred less so far."""
        return self.mase > 1.0


class StreamForecast:
    """Windows and forecaster of one stream.

    Parameters
    ----------
    columns : sequence of str
        Of every sample, in order.
    performance : Performance
        Whose rate is forecast.
    interval_s, horizon_s : float
        Time between samples, and how far ahead is forecast, seconds.
    settings : ForecasterSettings, optional
    already_rates : bool
        Whether counters come as rates.

    Attributes
    ----------
    windows, forecasts : list
        One of each a sample with rates, in order.
    """

    def __init__(
        self,
        columns: Sequence[str],
        performance: Performance,
        interval_s: float,
        horizon_s: float,
        settings: ForecasterSettings | None = None,
        *,
        already_rates: bool = False,
    ) -> None:
        self.performance = performance
        self.interval_s, self.horizon_s = interval_s, horizon_s
        self.source = Windows(columns, performance, interval_s, already_rates=already_rates)
        shape = Shape(len(PERFORMANCE_TERMS), len(self.source.counters))
        self.forecaster = Forecaster(steps_ahead(horizon_s, interval_s), shape, settings)
        self.windows: list[Window] = []
        self.forecasts: list[Forecast] = []

    def push(self, t_s: float, values: FloatArray) -> MemberState | None:
        """Take in one sample as recorded; None while there is no rate yet."""
        window = self.source.push(t_s, values)
        if window is None:
            return None
        made = self.forecaster.step(window.level, window.terms)
        self.windows.append(window)
        self.forecasts.append(made)
        errors = self.forecaster.errors[HEDGE]
        return MemberState(
            t_s,
            window.performance,
            math.exp(made.hedged),
            math.exp(made.lower),
            math.exp(made.upper),
            errors.n,
            errors.mase,
            errors.mape,
            errors.persistence_mape,
        )

    def members(self) -> pd.DataFrame:
        """Scores of the hedge and of every member: MASE, relative error, latest weight."""
        errors = self.forecaster.errors
        weights = self.forecasts[-1].weights if self.forecasts else self.forecaster.hedge.weights()
        latest = dict(zip(self.forecaster.names, weights, strict=False))
        names = list(errors)
        return pd.DataFrame(
            {
                "forecast": names,
                "mase": [errors[name].mase for name in names],
                "mape": [errors[name].mape for name in names],
                "weight": [float(latest.get(name, math.nan)) for name in names],
            }
        )

    def series(self) -> pd.DataFrame:
        """One row a sample: what was observed, and what had been forecast for it one horizon before (NaN where nothing was)."""
        ahead = self.forecaster.horizon_steps
        n_rows = len(self.windows)
        said = {name: np.full(n_rows, math.nan) for name in ("forecast", "lower", "upper", "persistence")}
        for made in self.forecasts[: max(0, n_rows - ahead)]:
            row = made.step + ahead
            for name, value in zip(said, (made.hedged, made.lower, made.upper, made.persistence), strict=True):
                said[name][row] = math.exp(value)
        observed = {"t_s": [window.t_s for window in self.windows], "performance": [window.performance for window in self.windows]}
        return pd.DataFrame({**observed, **said})

    def verdict(self) -> str:
        """In words: who erred less."""
        errors = self.forecaster.errors[HEDGE]
        if not errors.n:
            return "too short: no forecast has come due"
        if math.isnan(errors.mase):
            return "performance never changed: persistence cannot be beaten"
        share = abs(1.0 - errors.mase)
        if errors.mase > 1.0:
            return f"persistence is better: expecting no change errs {100.0 * share / errors.mase:.1f} % less"
        best = f"the forecast is better: it errs {100.0 * share:.1f} % less than {REFERENCE}"
        return best if share >= 0.0005 else f"the forecast and {REFERENCE} err alike"
