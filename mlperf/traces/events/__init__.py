"""What happened when: one columnar table of events on one clock, whole nanoseconds, whoever recorded them."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "EventTable": "mlperf.traces.events.table",
        "Kind": "mlperf.traces.events.kinds",
        "Flag": "mlperf.traces.events.kinds",
    },
)
