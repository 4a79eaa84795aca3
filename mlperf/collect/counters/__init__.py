"""Counters of a finished run (DWC-B): what this machine offers, and a command counted by it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "CounterRequest": "run",
    "count_command": "run",
    "Counted": "counted",
    "write_counted": "counted",
    "Probe": "offers",
    "SourceOffer": "offers",
    "CounterOffer": "offers",
    "probe_counters": "probe",
    "SimulatedCaches": "cachegrind",
    "launched": "launch",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.collect.counters' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.collect.counters.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
