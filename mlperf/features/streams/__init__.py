"""DWC-O: from a stream of counters to what is known at t. Samples are pushed one by one; a later one cannot be seen."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Windows": "mlperf.features.streams.window",
        "Window": "mlperf.features.streams.window",
        "Rates": "mlperf.features.streams.running",
        "MovingAverages": "mlperf.features.streams.running",
        "RunningScaler": "mlperf.features.streams.running",
        "dwc_o": "mlperf.features.streams.table",
        "stream_windows": "mlperf.features.streams.table",
        "write_targets": "mlperf.features.streams.table",
        "future_targets": "mlperf.features.streams.table",
    },
)
