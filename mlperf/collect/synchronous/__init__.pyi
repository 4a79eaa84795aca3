"""What `mlperf.collect.synchronous` imports on first use, as type checkers see it."""

from mlperf.collect.synchronous.campaign import train_synchronously
from mlperf.collect.synchronous.request import DdpRequest
from mlperf.collect.synchronous.summary import SynchronousRuns

__all__ = [
    "DdpRequest",
    "SynchronousRuns",
    "train_synchronously",
]
