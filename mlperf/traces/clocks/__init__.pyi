"""What `mlperf.traces.clocks` imports on first use, as type checkers see it."""

from mlperf.traces.clocks.alignment import align, clock_report
from mlperf.traces.clocks.constraints import Constraints, bracketed
from mlperf.traces.clocks.report import ClockReport

__all__ = [
    "ClockReport",
    "Constraints",
    "align",
    "bracketed",
    "clock_report",
]
