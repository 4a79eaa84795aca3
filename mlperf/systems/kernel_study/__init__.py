"""Studies of measured kernels: feature sets joined with learners, what each is worth, and models of kernels nobody has run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "read_kernel_times": "reading",
    "read_all_kernels": "merging",
    "asked_kernels": "asked",
    "KernelTimes": "kernel_times",
    "Setting": "kernel_times",
    "choose_setting": "kernel_times",
    "MachineFacts": "machines",
    "FEATURE_SETS": "feature_sets",
    "kernel_features": "feature_sets",
    "LEARNERS": "learners",
    "study_kernels": "study",
    "KernelStudy": "study",
    "StudyPlan": "study",
    "train_kernels": "kernel_model",
    "predict_kernels": "kernel_model",
    "load_kernel_model": "kernel_model",
    "KernelModel": "kernel_model",
    "KernelPredictions": "kernel_model",
    "PublishedModel": "published",
    "published_times": "published",
    "PUBLISHED": "published",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.systems.kernel_study' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.systems.kernel_study.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
