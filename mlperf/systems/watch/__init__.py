"""Watching a running program: its samples, their windows and the forecast, joined; live, replayed, and compared."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Watched": "result",
    "WatchRequest": "request",
    "watch": "live",
    "replay": "replaying",
    "online_study": "study",
    "OnlineStudy": "study",
    "StreamForecast": "forecasting",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.systems.watch' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.systems.watch.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
