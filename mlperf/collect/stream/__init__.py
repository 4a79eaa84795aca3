"""Sampling a running program: counters of the command, its children and the machine, several times a second."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Sampler": "sampler",
    "WatchedCommand": "command",
    "ProcessTree": "processes",
    "Interrupts": "interrupts",
    "Progress": "progress",
    "InstructionCounter": "instructions",
    "PROGRESS_FD": "progress",
    "ticks": "ticks",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.collect.stream' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.collect.stream.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
