"""Errors of a forecast so far, beside those of persistence over the same rows."""

from __future__ import annotations

import math


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
