"""Live measurement of this machine, written as the tables of a campaign."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "collect": "mlperf.collect.campaign.run",
        "CollectRequest": "mlperf.collect.campaign.run",
        "Collected": "mlperf.collect.protocol.summary",
        "KINDS": "mlperf.collect.campaign.run",
        "training_step": "mlperf.collect.cnn_engine.engine",
        "TrainingStep": "mlperf.collect.cnn_engine.engine",
        "Drift": "mlperf.collect.protocol.order",
        "drift": "mlperf.collect.protocol.order",
        "check_order": "mlperf.collect.protocol.order",
    },
)
