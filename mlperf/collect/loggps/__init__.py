"""LogGPS parameters measured between two ranks: latency, overheads, gaps, and the size from which sends wait."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "LogGPSRequest": "mlperf.collect.loggps.request",
        "collect_loggps": "mlperf.collect.loggps.measure",
        "MeasuredNetwork": "mlperf.collect.loggps.summary",
    },
)
