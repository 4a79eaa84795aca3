"""Figure 1 of the SPRINT paper as data: what every thread of a run did when, simulated or recorded, and as a Chrome trace."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "ThreadTimeline": "lanes",
    "recorded_threads": "recorded",
    "simulated_threads": "simulated",
    "simulated_configuration": "configuration",
    "summarise": "summary",
    "TimelineSummary": "summary",
    "chrome_trace": "chrome",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.systems.threads' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.systems.threads.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
