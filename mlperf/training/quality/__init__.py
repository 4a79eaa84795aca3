"""How many epochs an accuracy takes at a mean mini-batch size and staleness, and so how much time."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "QualityModel": "mlperf.training.quality.quality_model",
        "EpochsToTarget": "mlperf.training.quality.quality_model",
        "NodeJudgement": "mlperf.training.quality.judgement",
        "fit_quality": "mlperf.training.quality.fit",
        "fit_quality_table": "mlperf.training.quality.fit",
        "epochs_to_target": "mlperf.training.quality.epochs",
        "quality_rows": "mlperf.training.quality.epochs",
        "time_to_target": "mlperf.training.quality.objective",
        "TimeToTarget": "mlperf.training.quality.objective",
    },
)
