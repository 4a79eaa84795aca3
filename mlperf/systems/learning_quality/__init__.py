"""How many epochs an accuracy takes at a mean mini-batch size and staleness, and so how much time."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "QualityModel": "quality_model",
    "EpochsToTarget": "quality_model",
    "save_quality": "quality_model",
    "load_quality": "quality_model",
    "fit_quality": "fit",
    "fit_quality_table": "fit",
    "epochs_to_target": "epochs",
    "quality_rows": "epochs",
    "time_to_target": "objective",
    "TimeToTarget": "objective",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.systems.learning_quality' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.systems.learning_quality.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
