"""A real asynchronous trainer: Algorithms 1 and 2 of Oyama et al. with MPI ranks as nodes and threads as GPUs."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "AsgdRequest": "mlperf.collect.asgd.request",
        "Trained": "mlperf.collect.asgd.summary",
        "train_asynchronously": "mlperf.collect.asgd.train",
        "replay": "mlperf.collect.asgd.sequential",
        "read_samples": "mlperf.collect.asgd.samples",
        "digits_samples": "mlperf.collect.asgd.samples",
        "digits_cnn": "mlperf.collect.asgd.samples",
    },
)
