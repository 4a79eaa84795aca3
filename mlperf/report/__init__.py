"""How results reach people and programs: tables, figures, one HTML page, one JSON record."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "record": "mlperf.report.record",
    "frame_table": "mlperf.report.tables",
    "result_text": "mlperf.report.views",
    "html_page": "mlperf.report.html",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.report' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
