"""Regressors for times: selection, the family, local models, learners; intervals, domain, storage. No CNN is known here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "StepwiseOLS": "mlperf.models.stepwise",
    "NonNegativeOLS": "mlperf.models.nonnegative",
    "LogOLS": "mlperf.models.log_linear",
    "HuberOLS": "mlperf.models.robust",
    "QuantileOLS": "mlperf.models.quantile",
    "GridLocal": "mlperf.models.grid_local",
    "ScatterLocal": "mlperf.models.scatter_local",
    "RatioLocal": "mlperf.models.ratio_local",
    "BoostedResidual": "mlperf.models.boosted",
    "LogLearner": "mlperf.models.learners",
    "choose_family": "mlperf.models.family",
    "Domain": "mlperf.models.domain",
    "Interval": "mlperf.models.intervals",
    "read_model": "mlperf.models.store",
    "write_model": "mlperf.models.store",
    "read_learner": "mlperf.models.learner_store",
    "write_learner": "mlperf.models.learner_store",
    "read_extrap": "mlperf.models.extrap",
    "write_extrap": "mlperf.models.extrap",
    "component_experiment": "mlperf.models.extrap",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.models' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
