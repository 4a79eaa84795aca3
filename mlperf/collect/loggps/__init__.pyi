"""What `mlperf.collect.loggps` imports on first use, as type checkers see it."""

from mlperf.collect.loggps.measure import collect_loggps
from mlperf.collect.loggps.request import LogGPSRequest
from mlperf.collect.loggps.summary import MeasuredNetwork

__all__ = [
    "LogGPSRequest",
    "MeasuredNetwork",
    "collect_loggps",
]
