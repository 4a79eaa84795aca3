"""Watching a running program: its samples, their windows and the forecast, joined; live, replayed, and compared."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Watched": "mlperf.systems.watch.result",
        "WatchRequest": "mlperf.systems.watch.request",
        "watch": "mlperf.systems.watch.live",
        "replay": "mlperf.systems.watch.replaying",
        "online_study": "mlperf.systems.watch.study",
        "OnlineStudy": "mlperf.systems.watch.study",
        "StreamForecast": "mlperf.systems.watch.forecasting",
    },
)
