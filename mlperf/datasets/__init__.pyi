"""What `mlperf.datasets` imports on first use, as type checkers see it."""

from mlperf.datasets.campaigns.bundled import bundled_names, bundled_path
from mlperf.datasets.campaigns.campaign import Campaign, load_campaign, read_campaign
from mlperf.datasets.campaigns.contractions import Contractions, bundled_contractions, read_contractions
from mlperf.datasets.campaigns.gpu_campaign import import_gpu_campaign
from mlperf.datasets.campaigns.write import write_table
from mlperf.datasets.catalogue.check import check_data
from mlperf.datasets.catalogue.export import export_campaign
from mlperf.datasets.catalogue.listing import list_data
from mlperf.datasets.dictionary.column import Column, TableSchema
from mlperf.datasets.dictionary.contraction_schema import CONTRACTION_TABLES
from mlperf.datasets.dictionary.dictionary import describe_columns
from mlperf.datasets.dictionary.schema import TABLES, table_schema
from mlperf.datasets.joining.join import Joined, join_tables
from mlperf.datasets.open.open_data import open_tables, read_open
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.read import read_table
from mlperf.datasets.reading.repeats import repeat_groups
from mlperf.datasets.reading.template import table_template
from mlperf.systems.sprint.components import COMPONENT_NAMES

__all__ = [
    "COMPONENT_NAMES",
    "CONTRACTION_TABLES",
    "TABLES",
    "Campaign",
    "Column",
    "Contractions",
    "Joined",
    "TableSchema",
    "bundled_contractions",
    "bundled_names",
    "bundled_path",
    "check_data",
    "describe_columns",
    "export_campaign",
    "import_gpu_campaign",
    "join_tables",
    "list_data",
    "load_campaign",
    "open_tables",
    "read_any_table",
    "read_campaign",
    "read_contractions",
    "read_open",
    "read_table",
    "repeat_groups",
    "table_schema",
    "table_template",
    "write_table",
]
