"""Tensor contractions generated, compiled, checked and timed: the experiment of the statistical-learning paper."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "collect_contractions": "mlperf.collect.contraction.run",
        "ContractionRequest": "mlperf.collect.contraction.request",
        "CollectedContractions": "mlperf.collect.contraction.summary",
        "Build": "mlperf.collect.contraction.builds",
        "parse_build": "mlperf.collect.contraction.builds",
        "CacheSimulation": "mlperf.collect.contraction.cachegrind",
        "kernel_source": "mlperf.collect.contraction.sources",
    },
)
