"""What `mlperf.datasets.streams` imports on first use, as type checkers see it."""

from mlperf.datasets.streams.columns import COLUMNS, StreamColumn, column_of
from mlperf.datasets.streams.performance import PERFORMANCE, Performance, choose_performance
from mlperf.datasets.streams.read import Recording, Stream, read_stream

__all__ = [
    "COLUMNS",
    "PERFORMANCE",
    "Performance",
    "Recording",
    "Stream",
    "StreamColumn",
    "choose_performance",
    "column_of",
    "read_stream",
]
