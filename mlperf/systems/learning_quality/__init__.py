"""How many epochs an accuracy takes at a mean mini-batch size and staleness, and so how much time."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "QualityModel": "mlperf.systems.learning_quality.quality_model",
        "EpochsToTarget": "mlperf.systems.learning_quality.quality_model",
        "save_quality": "mlperf.systems.learning_quality.quality_model",
        "load_quality": "mlperf.systems.learning_quality.quality_model",
        "fit_quality": "mlperf.systems.learning_quality.fit",
        "fit_quality_table": "mlperf.systems.learning_quality.fit",
        "epochs_to_target": "mlperf.systems.learning_quality.epochs",
        "quality_rows": "mlperf.systems.learning_quality.epochs",
        "time_to_target": "mlperf.systems.learning_quality.objective",
        "TimeToTarget": "mlperf.systems.learning_quality.objective",
    },
)
