"""Canonical benchmarks: the innermost loops of a layer alone on a core, and the network between two processes."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "CanonicalRequest": "mlperf.collect.canonical.measure",
        "collect_canonical": "mlperf.collect.canonical.measure",
        "NetworkRequest": "mlperf.collect.canonical.network",
        "collect_network": "mlperf.collect.canonical.network",
        "MeasuredConstants": "mlperf.collect.canonical.summary",
    },
)
