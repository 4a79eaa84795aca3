"""What `mlperf.planning` imports on first use, as type checkers see it."""

from mlperf.planning.compare import compare_runs
from mlperf.planning.options import PredictionOptions
from mlperf.planning.partition.search_time import expected_search_time
from mlperf.planning.predict import predict_epoch
from mlperf.planning.run_prediction import Prediction
from mlperf.planning.search.machines import search_machines
from mlperf.planning.search.search import search_runs
from mlperf.planning.systems.predict import predict_system
from mlperf.planning.systems.search import search_system
from mlperf.planning.timeline import recorded_threads, simulated_configuration, simulated_threads

__all__ = [
    "Prediction",
    "PredictionOptions",
    "compare_runs",
    "expected_search_time",
    "predict_epoch",
    "predict_system",
    "recorded_threads",
    "search_machines",
    "search_runs",
    "search_system",
    "simulated_configuration",
    "simulated_threads",
]
