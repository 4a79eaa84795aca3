"""Streams: counters of one running program over time, as a CSV with one line a sample."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "COLUMNS": "columns",
    "StreamColumn": "columns",
    "column_of": "columns",
    "PERFORMANCE": "performance",
    "Performance": "performance",
    "choose_performance": "performance",
    "Stream": "read",
    "read_stream": "read",
    "Recording": "recording",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.datasets.streams' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.datasets.streams.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
