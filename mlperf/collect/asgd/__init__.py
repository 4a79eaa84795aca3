"""A real asynchronous trainer: Algorithms 1 and 2 of Oyama et al. with MPI ranks as nodes and threads as GPUs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "AsgdRequest": "request",
    "Trained": "summary",
    "train_asynchronously": "train",
    "replay": "sequential",
    "read_samples": "samples",
    "digits_samples": "samples",
    "digits_cnn": "samples",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.collect.asgd' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.collect.asgd.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
