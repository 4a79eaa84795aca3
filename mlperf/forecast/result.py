"""What is known when a watched run, or its replay, is over."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.forecast.forecasting import StreamForecast
from mlperf.models.online.forecaster import HEDGE


@dataclass(frozen=True, slots=True, eq=False)
class Watched(Shown, frame="series"):
    """A stream with its forecasts and what they were worth.

    Attributes
    ----------
    command : tuple of str
        What was run; empty for a replay.
    command_exit_code : int or None
        The command's own; 128 + number where a signal ended it; None for a replay.
    interrupted : bool
        Whether the user stopped it.
    performance, performance_unit, performance_meaning : str
        Which counter's rate was forecast, in what unit, and what it says.
    interval_s, horizon_s : float
        Time between samples, and how far ahead was forecast.
    n_samples, n_scored : int
        Samples with a rate, and forecasts whose outcome is known.
    mase : float
        Mean absolute error of log performance over that of persistence, equal rows and horizon.
    mape, persistence_mape : float
        Mean absolute relative error of performance: of the forecast, and of expecting no change.
    log_error, persistence_log_error : float
        Mean absolute error of the logarithm of performance of both.
    coverage : float
        Share of outcomes inside their interval.
    level : float
        Coverage that was promised.
    persistence_is_better : bool
        Whether expecting no change erred less.
    verdict : str
        The same in words.
    members : DataFrame
        MASE, relative error and latest weight of the hedge and each of its members.
    series : DataFrame
        One row a sample: time, performance, and what had been forecast for it.
    recorded : str or None
        File of the stream.
    notes : tuple of str
        Progress that could not be read, counters that fell, columns that nobody knows.
    inputs : mapping
        File that was read to the SHA-256 of its content.
    """

    command: tuple[str, ...]
    command_exit_code: int | None
    interrupted: bool
    performance: str
    performance_unit: str
    performance_meaning: str
    interval_s: float
    horizon_s: float
    n_samples: int
    n_scored: int
    mase: float
    mape: float
    persistence_mape: float
    log_error: float
    persistence_log_error: float
    coverage: float
    level: float
    persistence_is_better: bool
    verdict: str
    members: pd.DataFrame
    series: pd.DataFrame
    recorded: str | None
    notes: tuple[str, ...]
    inputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """What a result says of the run itself; all empty for a replay."""

    command: tuple[str, ...] = ()
    exit_code: int | None = None
    interrupted: bool = False
    recorded: str | None = None


def summarise(forecast: StreamForecast, run: Run, notes: Sequence[str] = (), inputs: Mapping[str, str] | None = None) -> Watched:
    """Everything about a stream's forecasts as one result."""
    errors = forecast.forecaster.errors[HEDGE]
    resets = forecast.source.rates.n_resets
    steps = forecast.forecaster.horizon_steps
    told = f"{steps} sample{'s' * (steps > 1)}, {steps * forecast.interval_s:g} s"
    rounded = (
        ()
        if math.isclose(steps * forecast.interval_s, forecast.horizon_s, rel_tol=0.01)
        else (f"a horizon of {forecast.horizon_s:g} s is forecast as {told}",)
    )
    fallen = (f"a counter fell in {resets} samples: its rate counts as 0 there",) if resets else ()
    return Watched(
        command=run.command,
        command_exit_code=run.exit_code,
        interrupted=run.interrupted,
        performance=forecast.performance.column,
        performance_unit=forecast.performance.unit,
        performance_meaning=forecast.performance.doc,
        interval_s=forecast.interval_s,
        horizon_s=forecast.horizon_s,
        n_samples=len(forecast.windows),
        n_scored=errors.n,
        mase=errors.mase,
        mape=errors.mape,
        persistence_mape=errors.persistence_mape,
        log_error=errors.log_error,
        persistence_log_error=errors.persistence_log_error,
        coverage=forecast.forecaster.interval.coverage,
        level=forecast.forecaster.interval.level,
        persistence_is_better=errors.mase > 1.0,
        verdict=forecast.verdict(),
        members=forecast.members(),
        series=forecast.series(),
        recorded=run.recorded,
        notes=(*notes, *rounded, *fallen),
        inputs=dict(inputs or {}),
    )
