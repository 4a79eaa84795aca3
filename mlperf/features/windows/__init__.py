"""DWC-O: from a stream of counters to what is known at t. Samples are pushed one by one; a later one cannot be seen."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Windows": "window",
    "Window": "window",
    "Rates": "rates",
    "MovingAverages": "running",
    "RunningScaler": "running",
    "dwc_o": "table",
    "stream_windows": "table",
    "write_targets": "targets",
    "future_targets": "targets",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.features.windows' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.features.windows.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
