"""Sampling a running program: counters of the command, its children and the machine, several times a second."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Sampler": "mlperf.collect.stream.sampler",
        "WatchedCommand": "mlperf.collect.stream.command",
        "ProcessTree": "mlperf.collect.stream.processes",
        "Interrupts": "mlperf.collect.stream.schedule",
        "Progress": "mlperf.collect.stream.progress",
        "InstructionCounter": "mlperf.collect.stream.instructions",
        "PROGRESS_FD": "mlperf.collect.stream.progress",
        "ticks": "mlperf.collect.stream.schedule",
    },
)
