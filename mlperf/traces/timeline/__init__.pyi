"""What `mlperf.traces.timeline` imports on first use, as type checkers see it."""

from mlperf.traces.timeline.chrome import chrome_trace
from mlperf.traces.timeline.lanes import ThreadTimeline, TimelineSummary, summarise

__all__ = [
    "ThreadTimeline",
    "TimelineSummary",
    "chrome_trace",
    "summarise",
]
