"""What `mlperf.forecast` imports on first use, as type checkers see it."""

from mlperf.forecast.forecasting import StreamForecast
from mlperf.forecast.live import WatchRequest, watch
from mlperf.forecast.replaying import replay
from mlperf.forecast.result import Watched
from mlperf.forecast.study import OnlineStudy, online_study

__all__ = [
    "OnlineStudy",
    "StreamForecast",
    "WatchRequest",
    "Watched",
    "online_study",
    "replay",
    "watch",
]
