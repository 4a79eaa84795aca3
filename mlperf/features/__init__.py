"""Static and dynamic workload characteristics: what a model may know before the run."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "FeatureColumn": "mlperf.features.network.base",
        "FeatureTable": "mlperf.features.network.base",
        "write_features": "mlperf.features.network.base",
        "swc_s": "mlperf.features.source",
        "loop_features": "mlperf.features.source",
        "pattern_nest": "mlperf.features.source",
        "read_nests": "mlperf.features.source",
        "swc_o": "mlperf.features.code",
        "dwc_b": "mlperf.features.counters",
        "counter_features": "mlperf.features.counters",
        "count_features": "mlperf.features.code",
        "count_instructions": "mlperf.features.code",
        "dwc_o": "mlperf.features.streams",
    },
)
