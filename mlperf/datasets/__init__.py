"""Measurement tables: the data dictionary, strict readers and writers, bundled campaigns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Campaign": "campaign",
    "read_campaign": "campaign",
    "Column": "column",
    "TableSchema": "column",
    "TABLES": "schema",
    "COMPONENT_NAMES": "schema",
    "table_schema": "schema",
    "read_table": "read",
    "read_any_table": "any_table",
    "write_table": "write",
    "join_tables": "join",
    "Joined": "join",
    "repeat_groups": "repeats",
    "bundled_names": "bundled",
    "bundled_path": "bundled",
    "load_campaign": "bundled",
    "Contractions": "contractions",
    "read_contractions": "contractions",
    "bundled_contractions": "contractions",
    "CONTRACTION_TABLES": "contraction_schema",
    "read_open": "open_data",
    "open_tables": "open_data",
    "list_data": "listing",
    "describe_columns": "dictionary",
    "check_data": "check",
    "table_template": "template",
    "export_campaign": "export",
    "import_gpu_campaign": "gpu_campaign",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.datasets' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.datasets.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
