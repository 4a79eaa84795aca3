"""What `mlperf.collect.trainer` imports on first use, as type checkers see it."""

from mlperf.collect.trainer.request import AsgdRequest
from mlperf.collect.trainer.samples import digits_cnn, digits_samples, read_samples
from mlperf.collect.trainer.sequential import replay
from mlperf.collect.trainer.summary import Trained
from mlperf.collect.trainer.train import train_asynchronously

__all__ = [
    "AsgdRequest",
    "Trained",
    "digits_cnn",
    "digits_samples",
    "read_samples",
    "replay",
    "train_asynchronously",
]
