"""What `mlperf.features.streams` imports on first use, as type checkers see it."""

from mlperf.features.streams.running import MovingAverages, Rates, RunningScaler
from mlperf.features.streams.table import dwc_o, future_targets, stream_windows, write_targets
from mlperf.features.streams.window import Window, Windows

__all__ = [
    "MovingAverages",
    "Rates",
    "RunningScaler",
    "Window",
    "Windows",
    "dwc_o",
    "future_targets",
    "stream_windows",
    "write_targets",
]
