"""Features joined with models, and the equations that turn component times into epoch time."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "train": "mlperf.systems.training",
        "load_model": "mlperf.systems.model",
        "save_model": "mlperf.systems.model",
        "predict_epoch": "mlperf.systems.predict",
        "search_runs": "mlperf.systems.search",
        "search_machines": "mlperf.systems.searching.machines",
        "compare_runs": "mlperf.systems.compare",
        "Model": "mlperf.systems.model",
        "TableModel": "mlperf.systems.table_model",
        "Prediction": "mlperf.systems.run_prediction",
        "COMPONENTS": "mlperf.systems.sprint.components",
    },
)
