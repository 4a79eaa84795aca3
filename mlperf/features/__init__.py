"""Static and dynamic workload characteristics: what a model may know before the run."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "FeatureColumn": "mlperf.features.base",
        "FeatureTable": "mlperf.features.base",
        "write_features": "mlperf.features.base",
        "swc_s": "mlperf.features.loops",
        "loop_features": "mlperf.features.loops",
        "pattern_nest": "mlperf.features.loops",
        "read_nests": "mlperf.features.loops",
        "swc_o": "mlperf.features.assembly",
        "dwc_b": "mlperf.features.counters",
        "counter_features": "mlperf.features.counters",
        "count_features": "mlperf.features.assembly",
        "count_instructions": "mlperf.features.assembly",
        "dwc_o": "mlperf.features.windows",
    },
)
