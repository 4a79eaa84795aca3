"""From a campaign or a table to a tested model of every component time."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "train": "mlperf.training.training",
        "Model": "mlperf.training.model",
        "TableModel": "mlperf.training.table.table_model",
        "GradientModel": "mlperf.training.gradient.gradient",
        "model_report": "mlperf.training.reported_model",
    },
)
