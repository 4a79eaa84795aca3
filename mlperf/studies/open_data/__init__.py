"""Accuracy on open measurements: what every method reaches, by fixed protocols, and beside limits where they are given."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "run_tasks": "mlperf.studies.open_data.run",
        "TASKS": "mlperf.studies.open_data.tasks",
        "task_names": "mlperf.studies.open_data.tasks",
        "OpenAccuracy": "mlperf.studies.open_data.scoring.result",
        "Score": "mlperf.studies.open_data.scoring.result",
        "Finding": "mlperf.studies.open_data.scoring.result",
        "Goal": "mlperf.studies.open_data.scoring.result",
        "read_limits": "mlperf.studies.open_data.limits",
        "write_accuracy": "mlperf.studies.open_data.markdown",
        "check_ending": "mlperf.studies.open_data.markdown",
    },
)
