"""Figures 4 to 13 of the SPRINT paper (Oyama et al.), drawn from any campaign."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {"draw_paper_figures": "drawing", "PaperFigures": "result", "PAPER_FIGURES": "registry"}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.report.paper' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.report.paper.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
