"""Features joined with models, and the equations that turn component times into epoch time."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "train": "training",
    "load_model": "model",
    "save_model": "model",
    "predict_epoch": "predict",
    "search_runs": "search",
    "search_machines": "searching.machines",
    "compare_runs": "compare",
    "Model": "model",
    "TableModel": "table_model",
    "Prediction": "run_prediction",
    "COMPONENTS": "components",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.systems' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.systems.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
