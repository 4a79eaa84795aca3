"""Measurement tables: the data dictionary, strict readers and writers, bundled campaigns."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Campaign": "mlperf.datasets.campaign",
        "read_campaign": "mlperf.datasets.campaign",
        "Column": "mlperf.datasets.column",
        "TableSchema": "mlperf.datasets.column",
        "TABLES": "mlperf.datasets.schema",
        "COMPONENT_NAMES": "mlperf.datasets.schema",
        "table_schema": "mlperf.datasets.schema",
        "read_table": "mlperf.datasets.read",
        "read_any_table": "mlperf.datasets.any_table",
        "write_table": "mlperf.datasets.write",
        "join_tables": "mlperf.datasets.join",
        "Joined": "mlperf.datasets.join",
        "repeat_groups": "mlperf.datasets.repeats",
        "bundled_names": "mlperf.datasets.bundled",
        "bundled_path": "mlperf.datasets.bundled",
        "load_campaign": "mlperf.datasets.bundled",
        "Contractions": "mlperf.datasets.contractions",
        "read_contractions": "mlperf.datasets.contractions",
        "bundled_contractions": "mlperf.datasets.contractions",
        "CONTRACTION_TABLES": "mlperf.datasets.contraction_schema",
        "read_open": "mlperf.datasets.open_data",
        "open_tables": "mlperf.datasets.open_data",
        "list_data": "mlperf.datasets.listing",
        "describe_columns": "mlperf.datasets.dictionary",
        "check_data": "mlperf.datasets.check",
        "table_template": "mlperf.datasets.template",
        "export_campaign": "mlperf.datasets.export",
        "import_gpu_campaign": "mlperf.datasets.gpu_campaign",
    },
)
