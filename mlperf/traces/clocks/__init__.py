"""Clocks of several ranks and hosts: what the trace itself says about their offsets, with bounds, and one time axis for all."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "align": "mlperf.traces.clocks.alignment",
        "clock_report": "mlperf.traces.clocks.alignment",
        "ClockReport": "mlperf.traces.clocks.report",
        "Constraints": "mlperf.traces.clocks.constraints",
        "bracketed": "mlperf.traces.clocks.constraints",
    },
)
