"""Streams: counters of one running program over time, as a CSV with one line a sample."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "COLUMNS": "mlperf.datasets.streams.columns",
        "StreamColumn": "mlperf.datasets.streams.columns",
        "column_of": "mlperf.datasets.streams.columns",
        "PERFORMANCE": "mlperf.datasets.streams.performance",
        "Performance": "mlperf.datasets.streams.performance",
        "choose_performance": "mlperf.datasets.streams.performance",
        "Stream": "mlperf.datasets.streams.read",
        "read_stream": "mlperf.datasets.streams.read",
        "Recording": "mlperf.datasets.streams.read",
    },
)
