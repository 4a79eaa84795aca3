"""The accuracy ladder: what every method reaches on open measurements, beside the goal, by fixed protocols."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "climb": "climbing",
    "RUNGS": "registry",
    "rung_names": "registry",
    "Ladder": "result",
    "Score": "result",
    "Goal": "result",
    "write_ladder": "files",
    "check_ending": "files",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.systems.ladder' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.systems.ladder.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
