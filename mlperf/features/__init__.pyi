"""What `mlperf.features` imports on first use, as type checkers see it."""

from mlperf.features.code.read import count_instructions
from mlperf.features.code.table import count_features, swc_o
from mlperf.features.counters.table import counter_features, dwc_b
from mlperf.features.network.base import FeatureColumn, FeatureTable, write_features
from mlperf.features.source.read import pattern_nest, read_nests, swc_s
from mlperf.features.source.table import loop_features
from mlperf.features.streams.table import dwc_o

__all__ = [
    "FeatureColumn",
    "FeatureTable",
    "count_features",
    "count_instructions",
    "counter_features",
    "dwc_b",
    "dwc_o",
    "loop_features",
    "pattern_nest",
    "read_nests",
    "swc_o",
    "swc_s",
    "write_features",
]
