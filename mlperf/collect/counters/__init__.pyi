"""What `mlperf.collect.counters` imports on first use, as type checkers see it."""

from mlperf.collect.counters.cachegrind import SimulatedCaches
from mlperf.collect.counters.counted import Counted, write_counted
from mlperf.collect.counters.launch import launched
from mlperf.collect.counters.offers import CounterOffer, Probe, SourceOffer
from mlperf.collect.counters.probe import probe_counters
from mlperf.collect.counters.run import CounterRequest, count_command

__all__ = [
    "Counted",
    "CounterOffer",
    "CounterRequest",
    "Probe",
    "SimulatedCaches",
    "SourceOffer",
    "count_command",
    "launched",
    "probe_counters",
    "write_counted",
]
