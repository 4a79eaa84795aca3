"""Figure 1 of the SPRINT paper as data: what every thread of a run did when, simulated or recorded, and as a Chrome trace."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "ThreadTimeline": "mlperf.traces.timeline.lanes",
        "recorded_threads": "mlperf.planning.recorded_lanes",
        "simulated_threads": "mlperf.planning.simulated_lanes",
        "simulated_configuration": "mlperf.planning.timeline",
        "summarise": "mlperf.traces.timeline.summary",
        "TimelineSummary": "mlperf.traces.timeline.summary",
        "chrome_trace": "mlperf.traces.timeline.chrome",
    },
)
