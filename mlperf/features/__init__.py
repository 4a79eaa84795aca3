"""Static and dynamic workload characteristics: what a model may know before the run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "FeatureColumn": "base",
    "FeatureTable": "base",
    "write_features": "base",
    "swc_s": "loops",
    "loop_features": "loops",
    "pattern_nest": "loops",
    "read_nests": "loops",
    "swc_o": "assembly",
    "dwc_b": "counters",
    "counter_features": "counters",
    "count_features": "assembly",
    "count_instructions": "assembly",
    "dwc_o": "windows",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.features' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.features.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
