"""SWC-S: workload characteristics of loop nests, read from a description or from C source."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "DEFAULT_CACHES": "mlperf.features.source.caches",
        "Addresses": "mlperf.features.source.strides",
        "Array": "mlperf.features.source.nest",
        "CacheLevel": "mlperf.features.source.caches",
        "Loop": "mlperf.features.source.nest",
        "Nest": "mlperf.features.source.nest",
        "Polynomial": "mlperf.features.source.polynomial",
        "Reference": "mlperf.features.source.nest",
        "Statement": "mlperf.features.source.nest",
        "Vectorisability": "mlperf.features.source.vectorise",
        "cache_misses": "mlperf.features.source.reuse",
        "conflict_risk": "mlperf.features.source.reuse",
        "innermost_levels": "mlperf.features.source.vectorise",
        "judge_loop": "mlperf.features.source.vectorise",
        "loop_features": "mlperf.features.source.table",
        "nest_addresses": "mlperf.features.source.strides",
        "nest_lines": "mlperf.features.source.reuse",
        "parse_c": "mlperf.features.source.c_reader",
        "parse_cache": "mlperf.features.source.caches",
        "pattern_nest": "mlperf.features.source.read",
        "read_c": "mlperf.features.source.c_reader",
        "read_nest": "mlperf.features.source.description",
        "read_nests": "mlperf.features.source.read",
        "swc_s": "mlperf.features.source.read",
    },
)
