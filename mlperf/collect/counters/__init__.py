"""Counters of a finished run (DWC-B): what this machine offers, and a command counted by it."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "CounterRequest": "mlperf.collect.counters.run",
        "count_command": "mlperf.collect.counters.run",
        "Counted": "mlperf.collect.counters.counted",
        "write_counted": "mlperf.collect.counters.counted",
        "Probe": "mlperf.collect.counters.offers",
        "SourceOffer": "mlperf.collect.counters.offers",
        "CounterOffer": "mlperf.collect.counters.offers",
        "probe_counters": "mlperf.collect.counters.probe",
        "SimulatedCaches": "mlperf.collect.counters.cachegrind",
        "launched": "mlperf.collect.counters.launch",
    },
)
