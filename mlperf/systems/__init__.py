"""Features joined with models, and the equations that turn component times into epoch time."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "train": "mlperf.training.training",
        "load_model": "mlperf.training.model",
        "save_model": "mlperf.training.model",
        "predict_epoch": "mlperf.planning.predict",
        "search_runs": "mlperf.planning.search.search",
        "search_machines": "mlperf.planning.search.machines",
        "compare_runs": "mlperf.planning.compare",
        "Model": "mlperf.training.model",
        "TableModel": "mlperf.training.table_model",
        "Prediction": "mlperf.planning.run_prediction",
        "COMPONENTS": "mlperf.systems.sprint.components",
    },
)
