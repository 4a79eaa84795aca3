"""Figure 1 of the SPRINT paper as data: what every thread of a run did when, simulated or recorded, and as a Chrome trace."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "ThreadTimeline": "mlperf.systems.threads.lanes",
        "recorded_threads": "mlperf.systems.threads.recorded",
        "simulated_threads": "mlperf.systems.threads.simulated",
        "simulated_configuration": "mlperf.systems.threads.configuration",
        "summarise": "mlperf.systems.threads.summary",
        "TimelineSummary": "mlperf.systems.threads.summary",
        "chrome_trace": "mlperf.systems.threads.chrome",
    },
)
