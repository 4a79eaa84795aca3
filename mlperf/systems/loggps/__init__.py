"""LogGPS: what a message costs by latency, overhead, gaps and the size where sends begin to wait for their receives."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "LogGPS": "mlperf.systems.loggps.parameters",
        "MessageCosts": "mlperf.systems.loggps.costs",
        "Preset": "mlperf.systems.loggps.costs",
        "message_costs": "mlperf.systems.loggps.costs",
        "message_slopes": "mlperf.systems.loggps.costs",
        "in_ticks": "mlperf.systems.loggps.costs",
        "PRESETS": "mlperf.systems.loggps.presets",
        "find_preset": "mlperf.systems.loggps.presets",
    },
)
