"""What `mlperf.collect` imports on first use, as type checkers see it."""

from mlperf.collect.campaign.run import KINDS, CollectRequest, collect
from mlperf.collect.cnn_engine.engine import TrainingStep, training_step
from mlperf.collect.protocol.order import Drift, check_order, drift
from mlperf.collect.protocol.summary import Collected

__all__ = [
    "KINDS",
    "CollectRequest",
    "Collected",
    "Drift",
    "TrainingStep",
    "check_order",
    "collect",
    "drift",
    "training_step",
]
