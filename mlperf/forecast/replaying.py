"""A recorded stream once more, as if it came in live."""

from __future__ import annotations

from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.datasets.streams.read import read_stream
from mlperf.features.streams.table import stream_performance
from mlperf.forecast.forecasting import StreamForecast
from mlperf.forecast.result import Run, Watched, summarise
from mlperf.models.online.forecaster import ForecasterSettings

DEFAULT_HORIZON_S = 1.0


def replay(
    path: Path | str,
    *,
    horizon_s: float | None = None,
    performance: str | None = None,
    settings: ForecasterSettings | None = None,
) -> Watched:
    """Forecast a recorded stream sample by sample.

    The samples go through the same code in the same order as they did live, so that every figure is the live one to the last bit.

    Parameters
    ----------
    path : path
        What ``watch --record`` wrote, or any CSV with ``t_s`` and counters.
    horizon_s : float, optional
        How far ahead, seconds; default what the recording says, else 1 s.
    performance : str, optional
        As in ``WatchRequest``, or a counter's name; default what the recording says.
    settings : ForecasterSettings, optional
        Members, hedge, level of the interval.

    Raises
    ------
    DataError
        A stream that cannot be read.
    UsageError
        A horizon that is not positive.
    """
    stream = read_stream(path)
    said = stream.settings.get("horizon_s")
    ahead_s = horizon_s if horizon_s is not None else float(said) if said else DEFAULT_HORIZON_S
    if not ahead_s > 0.0:
        raise UsageError(f"got a horizon of {ahead_s} s, expected seconds > 0")
    chosen = stream_performance(stream, performance)
    forecast = StreamForecast(stream.columns, chosen, stream.interval_s, ahead_s, settings, already_rates=stream.is_rates)
    for t_s, values in zip(stream.t_s, stream.values, strict=True):
        forecast.push(float(t_s), values)
    return summarise(forecast, Run(), stream.notes, {str(path): stream.sha256})
