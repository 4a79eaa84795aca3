"""How long will an epoch of this network take on that cluster, and how sure are we."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "read_campaign": "mlperf.datasets",
    "join_tables": "mlperf.datasets",
    "train": "mlperf.systems",
    "load_model": "mlperf.systems",
    "save_model": "mlperf.systems",
    "predict_epoch": "mlperf.systems",
    "search_runs": "mlperf.systems",
    "search_machines": "mlperf.systems",
    "compare_runs": "mlperf.systems",
    "CnnSpec": "mlperf.specs",
    "MachineSpec": "mlperf.specs",
    "JobSpec": "mlperf.specs",
    "StepwiseOLS": "mlperf.models",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that ``import mlperf`` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
