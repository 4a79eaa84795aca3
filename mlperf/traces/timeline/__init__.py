"""Figure 1 of the SPRINT paper as data: what every thread of a run did when, and as a Chrome trace."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "ThreadTimeline": "mlperf.traces.timeline.lanes",
        "summarise": "mlperf.traces.timeline.lanes",
        "TimelineSummary": "mlperf.traces.timeline.lanes",
        "chrome_trace": "mlperf.traces.timeline.chrome",
    },
)
