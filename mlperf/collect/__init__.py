"""Live measurement of this machine, written as the tables of a campaign."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "collect": "run",
    "CollectRequest": "run",
    "Collected": "summary",
    "KINDS": "run",
    "training_step": "engine",
    "TrainingStep": "engine",
    "Drift": "order",
    "drift": "order",
    "check_order": "order",
    "NoiseFloor": "floor",
    "noise_floor": "floor",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.collect' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.collect.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
