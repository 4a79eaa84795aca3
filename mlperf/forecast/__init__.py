"""Watching a running program: its samples, their windows and the forecast, joined; live, replayed, and compared."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Watched": "mlperf.forecast.result",
        "WatchRequest": "mlperf.forecast.live",
        "watch": "mlperf.forecast.live",
        "replay": "mlperf.forecast.replaying",
        "online_study": "mlperf.forecast.study",
        "OnlineStudy": "mlperf.forecast.study",
        "StreamForecast": "mlperf.forecast.forecasting",
    },
)
