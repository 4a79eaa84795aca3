"""Tensor contractions generated, compiled, checked and timed: the experiment of the statistical-learning paper."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "collect_contractions": "run",
    "ContractionRequest": "request",
    "CollectedContractions": "summary",
    "Build": "builds",
    "parse_build": "builds",
    "CacheSimulation": "cachegrind",
    "kernel_source": "sources",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.collect.contraction' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.collect.contraction.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
