"""Measurement tables: the data dictionary, strict readers and writers, bundled campaigns."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Campaign": "mlperf.datasets.campaigns.campaign",
        "read_campaign": "mlperf.datasets.campaigns.campaign",
        "Column": "mlperf.datasets.dictionary.column",
        "TableSchema": "mlperf.datasets.dictionary.column",
        "TABLES": "mlperf.datasets.dictionary.schema",
        "COMPONENT_NAMES": "mlperf.systems.sprint.components",
        "table_schema": "mlperf.datasets.dictionary.schema",
        "read_table": "mlperf.datasets.reading.read",
        "read_any_table": "mlperf.datasets.reading.any_table",
        "write_table": "mlperf.datasets.campaigns.write",
        "join_tables": "mlperf.datasets.joining.join",
        "Joined": "mlperf.datasets.joining.join",
        "repeat_groups": "mlperf.datasets.reading.repeats",
        "bundled_names": "mlperf.datasets.campaigns.bundled",
        "bundled_path": "mlperf.datasets.campaigns.bundled",
        "load_campaign": "mlperf.datasets.campaigns.campaign",
        "Contractions": "mlperf.datasets.campaigns.contractions",
        "read_contractions": "mlperf.datasets.campaigns.contractions",
        "bundled_contractions": "mlperf.datasets.campaigns.contractions",
        "CONTRACTION_TABLES": "mlperf.datasets.dictionary.contraction_schema",
        "read_open": "mlperf.datasets.open.open_data",
        "open_tables": "mlperf.datasets.open.open_data",
        "list_data": "mlperf.datasets.catalogue.listing",
        "describe_columns": "mlperf.datasets.dictionary.dictionary",
        "check_data": "mlperf.datasets.catalogue.check",
        "table_template": "mlperf.datasets.reading.template",
        "export_campaign": "mlperf.datasets.catalogue.export",
        "import_gpu_campaign": "mlperf.datasets.campaigns.gpu_campaign",
    },
)
