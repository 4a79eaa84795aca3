"""`mlperf train` and `mlperf predict` judged by runs of the asynchronous trainer."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "judge_trainer": "mlperf.studies.trainer.judge",
        "TrainerLimits": "mlperf.studies.trainer.limits",
        "read_trainer_limits": "mlperf.studies.trainer.limits",
        "TrainerAccuracy": "mlperf.studies.trainer.result",
    },
)
