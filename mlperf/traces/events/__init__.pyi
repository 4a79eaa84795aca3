"""What `mlperf.traces.events` imports on first use, as type checkers see it."""

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable

__all__ = [
    "EventTable",
    "Flag",
    "Kind",
]
