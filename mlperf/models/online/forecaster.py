"""The forecast of a stream: at t only what is known at t; an outcome is learnt when it has happened."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.models.online.conformal import AdaptiveInterval
from mlperf.models.online.hedge import Hedge, HedgeSettings
from mlperf.models.online.members import MEMBERS, REFERENCE, Member, Shape


class RunningErrors:
    """Sums of absolute errors, added in the order of the stream: the same rows give the same bits, live or replayed.

    Attributes
    ----------
    n : int
        Forecasts whose outcome is known.
    """

    def __init__(self) -> None:
        self.n = 0
        self._log = self._log_persistence = self._relative = self._relative_persistence = 0.0

    def add(self, forecast: float, persistence: float, observed: float) -> None:
        """Score one forecast; all three are logarithms of performance."""
        self.n += 1
        self._log += abs(observed - forecast)
        self._log_persistence += abs(observed - persistence)
        self._relative += abs(math.expm1(forecast - observed))
        self._relative_persistence += abs(math.expm1(persistence - observed))

    @property
    def mase(self) -> float:
        """Mean absolute error of log performance over that of persistence, same rows; NaN where persistence never erred."""
        return self._log / self._log_persistence if self._log_persistence > 0.0 else math.nan

    @property
    def log_error(self) -> float:
        """Mean absolute error of log performance."""
        return self._log / self.n if self.n else math.nan

    @property
    def persistence_log_error(self) -> float:
        """Mean absolute error of log performance if nothing changed."""
        return self._log_persistence / self.n if self.n else math.nan

    @property
    def mape(self) -> float:
        """Mean absolute relative error of performance, a fraction of the observed."""
        return self._relative / self.n if self.n else math.nan

    @property
    def persistence_mape(self) -> float:
        """Mean absolute relative error of performance if nothing changed."""
        return self._relative_persistence / self.n if self.n else math.nan


HEDGE = "hedge"
LEAST_WINDOW, WINDOW_HORIZONS = 200, 50
"""Errors that intervals remember: those of overlapping horizons are nearly one error."""


@dataclass(frozen=True, slots=True)
class ForecasterSettings:
    """What a forecaster is made of.

    Attributes
    ----------
    members : mapping
        Name to builder of each hedged forecaster, persistence first.
    compared : mapping
        Forecasters that are scored with them and have no weight.
    hedge : HedgeSettings
    level : float
        Promised coverage of the interval.
    """

    members: Mapping[str, Callable[[Shape], Member]] = field(default_factory=lambda: MEMBERS)
    compared: Mapping[str, Callable[[Shape], Member]] = field(default_factory=lambda: MappingProxyType({}))
    hedge: HedgeSettings = field(default_factory=HedgeSettings)
    level: float = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What was said at one step about ``horizon_steps`` later; values are log performance.

    Attributes
    ----------
    step : int
        Number of the step at which it was made, from 0.
    persistence, hedged : float
        The level then, and the forecast.
    lower, upper : float
        Interval; NaN while too few errors are known.
    each : array, shape (n_members,)
        Forecast of every member, hedged ones first.
    weights : array, shape (n_hedged,)
        Trust in the hedged ones.
    """

    step: int
    persistence: float
    hedged: float
    lower: float
    upper: float
    each: FloatArray
    weights: FloatArray


class Forecaster:
    """Hedged forecast of a level ``horizon_steps`` ahead, prequentially.

    Call `step` once a sample. It first learns the outcome that has just become known (of the forecast made ``horizon_steps`` ago),
    then forecasts: no value can be used before it was observed.

    Parameters
    ----------
    horizon_steps : int
        Samples between a forecast and its outcome, >= 1.
    shape : Shape
        Numbers of terms.
    settings : ForecasterSettings, optional
        Members, hedge, level of the interval.

    Attributes
    ----------
    errors : dict of RunningErrors
        Of the hedge and of every member, by name.
    interval : AdaptiveInterval
        With its observed coverage.

    Raises
    ------
    UsageError
        A horizon below one step, or members that do not begin with persistence.
    """

    def __init__(self, horizon_steps: int, shape: Shape, settings: ForecasterSettings | None = None) -> None:
        settings = settings or ForecasterSettings()
        if horizon_steps < 1:
            raise UsageError(f"got a horizon of {horizon_steps} samples, expected at least 1")
        if next(iter(settings.members), None) != REFERENCE:
            raise UsageError(f"got members {', '.join(settings.members) or 'none'}, expected {REFERENCE!r} as the first")
        self.horizon_steps = horizon_steps
        self.names = (*settings.members, *settings.compared)
        self.n_hedged = len(settings.members)
        self.members = [build(shape) for build in (*settings.members.values(), *settings.compared.values())]
        self.hedge = Hedge(self.n_hedged, settings.hedge)
        self.interval = AdaptiveInterval(settings.level, max(LEAST_WINDOW, WINDOW_HORIZONS * horizon_steps))
        self.errors = {name: RunningErrors() for name in (HEDGE, *self.names)}
        self.n_steps = 0
        self._waiting: deque[tuple[Forecast, FloatArray]] = deque()
        self._lowest, self._highest = math.inf, -math.inf

    def step(self, level: float, terms: FloatArray) -> Forecast:
        """Observe log performance and the terms known now, learn, forecast.

        Parameters
        ----------
        level : float
            Log performance of the sample.
        terms : array, shape (n_performance + n_counters,)
            What is known with it.

        Returns
        -------
        Forecast
            Of the level ``horizon_steps`` samples from now.
        """
        self._lowest, self._highest = min(self._lowest, level), max(self._highest, level)
        if len(self._waiting) == self.horizon_steps:
            self._learn(*self._waiting.popleft(), level)
        made = self._forecast(level, terms)
        self._waiting.append((made, terms))
        self.n_steps += 1
        return made

    def _learn(self, made: Forecast, terms: FloatArray, observed: float) -> None:
        """The outcome of an earlier forecast is known: score it, then let everybody learn."""
        self.errors[HEDGE].add(made.hedged, made.persistence, observed)
        for name, forecast, member in zip(self.names, made.each, self.members, strict=True):
            self.errors[name].add(float(forecast), made.persistence, observed)
            member.learn(terms, made.persistence, observed)
        self.hedge.learn(np.abs(observed - made.each[: self.n_hedged]).tolist())
        self.interval.learn(observed - made.hedged, (made.lower - made.hedged, made.upper - made.hedged))

    def _forecast(self, level: float, terms: FloatArray) -> Forecast:
        each = np.array([member.forecast(level, terms) for member in self.members])
        # What was never seen is not forecast: a regression that runs away is held.
        each = np.clip(np.where(np.isfinite(each), each, level), self._lowest, self._highest)
        weights = self.hedge.weights()
        hedged = self.hedge.combine(each[: self.n_hedged], weights)
        lower, upper = self.interval.bounds()
        return Forecast(self.n_steps, level, hedged, hedged + lower, hedged + upper, each, weights)
