"""Questions to a trained model: predict an epoch, compare with measurements, search the best run."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "predict_epoch": "mlperf.planning.predict",
        "Prediction": "mlperf.planning.run_prediction",
        "PredictionOptions": "mlperf.planning.options",
        "recorded_threads": "mlperf.planning.timeline",
        "simulated_threads": "mlperf.planning.timeline",
        "simulated_configuration": "mlperf.planning.timeline",
        "predict_system": "mlperf.planning.systems.predict",
        "search_system": "mlperf.planning.systems.search",
        "compare_runs": "mlperf.planning.compare",
        "search_runs": "mlperf.planning.search.search",
        "search_machines": "mlperf.planning.search.machines",
        "expected_search_time": "mlperf.planning.partition.search_time",
    },
)
