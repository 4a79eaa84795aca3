"""What `mlperf.collect.canonical` imports on first use, as type checkers see it."""

from mlperf.collect.canonical.measure import CanonicalRequest, collect_canonical
from mlperf.collect.canonical.network import NetworkRequest, collect_network
from mlperf.collect.canonical.summary import MeasuredConstants

__all__ = [
    "CanonicalRequest",
    "MeasuredConstants",
    "NetworkRequest",
    "collect_canonical",
    "collect_network",
]
