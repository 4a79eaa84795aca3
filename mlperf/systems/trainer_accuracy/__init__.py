"""The equations and component models of SPRINT judged by runs of the asynchronous trainer."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "judge_trainer": "judge",
    "TrainerAccuracy": "result",
    "read_runs": "runs",
    "TrainerRuns": "runs",
    "fit_costs": "costs",
    "Costs": "costs",
    "split_errors": "split",
    "headline_errors": "headline",
    "rank_windows": "ranking",
    "compare_components": "component_comparison",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.systems.trainer_accuracy' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.systems.trainer_accuracy.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
