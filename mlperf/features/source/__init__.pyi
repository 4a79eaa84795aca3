"""What `mlperf.features.source` imports on first use, as type checkers see it."""

from mlperf.features.source.c_reader import parse_c, read_c
from mlperf.features.source.caches import DEFAULT_CACHES, CacheLevel, parse_cache
from mlperf.features.source.description import read_nest
from mlperf.features.source.nest import Array, Loop, Nest, Reference, Statement
from mlperf.features.source.polynomial import Polynomial
from mlperf.features.source.read import pattern_nest, read_nests, swc_s
from mlperf.features.source.reuse import cache_misses, conflict_risk, nest_lines
from mlperf.features.source.strides import Addresses, nest_addresses
from mlperf.features.source.table import loop_features
from mlperf.features.source.vectorise import Vectorisability, innermost_levels, judge_loop

__all__ = [
    "DEFAULT_CACHES",
    "Addresses",
    "Array",
    "CacheLevel",
    "Loop",
    "Nest",
    "Polynomial",
    "Reference",
    "Statement",
    "Vectorisability",
    "cache_misses",
    "conflict_risk",
    "innermost_levels",
    "judge_loop",
    "loop_features",
    "nest_addresses",
    "nest_lines",
    "parse_c",
    "parse_cache",
    "pattern_nest",
    "read_c",
    "read_nest",
    "read_nests",
    "swc_s",
]
