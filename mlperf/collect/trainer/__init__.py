"""A real asynchronous trainer: Algorithms 1 and 2 of Oyama et al. with MPI ranks as nodes and threads as GPUs."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "AsgdRequest": "mlperf.collect.trainer.request",
        "Trained": "mlperf.collect.trainer.summary",
        "train_asynchronously": "mlperf.collect.trainer.train",
        "replay": "mlperf.collect.trainer.sequential",
        "read_samples": "mlperf.collect.trainer.samples",
        "digits_samples": "mlperf.collect.trainer.samples",
        "digits_cnn": "mlperf.collect.trainer.samples",
    },
)
