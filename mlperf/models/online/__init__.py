"""Learning while a stream arrives: recursive least squares, hedging, intervals and scores that never look ahead."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "RecursiveLeastSquares": "recursive",
    "Recursion": "recursion",
    "RecursionSettings": "recursion",
    "Hedge": "hedge",
    "HedgeSettings": "hedge",
    "AdaptiveInterval": "conformal",
    "RunningErrors": "errors",
    "Forecaster": "forecaster",
    "Forecast": "forecaster",
    "ForecasterSettings": "forecaster",
    "MEMBERS": "members",
    "LEARNERS": "learners",
    "LearnerMember": "learners",
    "prequential": "protocol",
    "Prequential": "protocol",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.models.online' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.models.online.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
