"""The forecasters that are hedged between: persistence, a moving average, recursive regressions of the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.models.online.recursion import Recursion, RecursionSettings

REFERENCE = "persistence"
MOVING_SHARE = 0.2
CHANGE = RecursionSettings(forgetting=0.999, clip=2.0, prior_variance=0.1)
COUNTER_VARIANCE = 0.01
LEVEL = RecursionSettings(forgetting=0.999, clip=2.0, prior_variance=1.0)


class Member(Protocol):
    """One forecaster of y(t + h)."""

    def forecast(self, level: float, terms: FloatArray) -> float:
        """Forecast from y(t) and the terms known at t; called once a step, in order."""
        ...

    def learn(self, terms: FloatArray, level: float, observed: float) -> None:
        """Take in an outcome: at some t there were ``terms`` and y(t) = ``level``; y(t + h) turned out as ``observed``."""
        ...


@dataclass(frozen=True, slots=True)
class Shape:
    """How many terms there are: those made of performance alone come first, then those of counters."""

    n_performance: int
    n_counters: int


class Persistence:
    """The forecast that nothing changes."""

    def forecast(self, level: float, terms: FloatArray) -> float:  # noqa: ARG002 - a member's signature
        """y(t)."""
        return level

    def learn(self, terms: FloatArray, level: float, observed: float) -> None:
        """Do nothing: there is nothing to learn."""


class MovingAverage:
    """An exponentially weighted mean: ``share`` of the newest value, the rest of the mean before."""

    def __init__(self, share: float = MOVING_SHARE) -> None:
        self.share = share
        self.mean: float | None = None

    def forecast(self, level: float, terms: FloatArray) -> float:  # noqa: ARG002 - a member's signature
        """The mean including y(t)."""
        self.mean = level if self.mean is None else self.mean + self.share * (level - self.mean)
        return self.mean

    def learn(self, terms: FloatArray, level: float, observed: float) -> None:
        """Do nothing: there is nothing to learn."""


class ChangeRegression:
    """Recursive least squares of the change y(t + h) - y(t) on the first ``n_terms`` terms.

    The prior holds the coefficients at zero, which is persistence: terms are given little weight until they have shown their worth.
    """

    def __init__(self, prior_variances: FloatArray, settings: RecursionSettings = CHANGE) -> None:
        self.n_terms = len(prior_variances)
        self.recursion = Recursion(self.n_terms, settings, prior_variances)

    def forecast(self, level: float, terms: FloatArray) -> float:
        """y(t) and the expected change."""
        return level + self.recursion.predict(terms[: self.n_terms])

    def learn(self, terms: FloatArray, level: float, observed: float) -> None:
        """One row: the terms at t and the change until t + h."""
        self.recursion.learn(terms[: self.n_terms], observed - level)


class LevelRegression:
    """Recursive least squares of y(t + h) itself on a constant, y(t) and all terms: for comparison, persistence must be learnt."""

    def __init__(self, shape: Shape) -> None:
        self.recursion = Recursion(2 + shape.n_performance + shape.n_counters, LEVEL)

    def forecast(self, level: float, terms: FloatArray) -> float:
        """The fitted level; y(t) before anything was learnt."""
        return self.recursion.predict(self._row(level, terms)) if self.recursion.n_rows else level

    def learn(self, terms: FloatArray, level: float, observed: float) -> None:
        """One row: constant, level and terms at t, and the level at t + h."""
        self.recursion.learn(self._row(level, terms), observed)

    @staticmethod
    def _row(level: float, terms: FloatArray) -> FloatArray:
        return np.concatenate(([1.0, level], terms))


def performance_regression(shape: Shape) -> ChangeRegression:
    """Regression of the change on what performance alone tells."""
    return ChangeRegression(np.full(shape.n_performance, CHANGE.prior_variance or 0.0))


def counter_regression(shape: Shape) -> ChangeRegression:
    """Regression of the change on all terms; a counter's coefficient is expected nearer to zero, there are many of them."""
    variances = np.full(shape.n_performance + shape.n_counters, COUNTER_VARIANCE)
    return ChangeRegression(variances)


MEMBERS: Mapping[str, Callable[[Shape], Member]] = MappingProxyType(
    {
        #                  made by
        REFERENCE: lambda shape: Persistence(),  # noqa: ARG005 - one signature for all
        "ewma_0.2": lambda shape: MovingAverage(),  # noqa: ARG005 - one signature for all
        "rls_performance": performance_regression,
        "rls_counters": counter_regression,
    }
)
"""Who is hedged, the reference first."""

COMPARED: Mapping[str, Callable[[Shape], Member]] = MappingProxyType({"rls_levels": LevelRegression})
"""Who is only looked at."""
