"""The accuracy ladder: what every method reaches on open measurements, beside the goal, by fixed protocols."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "climb": "mlperf.studies.open_data.run_tasks",
        "RUNGS": "mlperf.studies.open_data.tasks",
        "rung_names": "mlperf.studies.open_data.tasks",
        "Ladder": "mlperf.studies.open_data.result",
        "Score": "mlperf.studies.open_data.result",
        "Goal": "mlperf.studies.open_data.result",
        "write_ladder": "mlperf.studies.open_data.files",
        "check_ending": "mlperf.studies.open_data.files",
    },
)
