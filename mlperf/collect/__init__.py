"""Live measurement of this machine, written as the tables of a campaign."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "collect": "mlperf.collect.run",
        "CollectRequest": "mlperf.collect.run",
        "Collected": "mlperf.collect.summary",
        "KINDS": "mlperf.collect.run",
        "training_step": "mlperf.collect.engine",
        "TrainingStep": "mlperf.collect.engine",
        "Drift": "mlperf.collect.order",
        "drift": "mlperf.collect.order",
        "check_order": "mlperf.collect.order",
        "NoiseFloor": "mlperf.collect.floor",
        "noise_floor": "mlperf.collect.floor",
    },
)
