"""DWC-O: from a stream of counters to what is known at t. Samples are pushed one by one; a later one cannot be seen."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Windows": "mlperf.features.windows.window",
        "Window": "mlperf.features.windows.window",
        "Rates": "mlperf.features.windows.rates",
        "MovingAverages": "mlperf.features.windows.running",
        "RunningScaler": "mlperf.features.windows.running",
        "dwc_o": "mlperf.features.windows.table",
        "stream_windows": "mlperf.features.windows.table",
        "write_targets": "mlperf.features.windows.targets",
        "future_targets": "mlperf.features.windows.targets",
    },
)
