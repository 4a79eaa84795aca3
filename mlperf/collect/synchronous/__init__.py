"""Synchronous data-parallel training, run for real: processes with a replica each, one all-reduce a step."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "DdpRequest": "mlperf.collect.synchronous.request",
        "SynchronousRuns": "mlperf.collect.synchronous.summary",
        "train_synchronously": "mlperf.collect.synchronous.campaign",
    },
)
