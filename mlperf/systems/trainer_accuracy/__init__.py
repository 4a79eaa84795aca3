"""The equations and component models of SPRINT judged by runs of the asynchronous trainer."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "judge_trainer": "mlperf.systems.trainer_accuracy.judge",
        "TrainerAccuracy": "mlperf.systems.trainer_accuracy.result",
        "read_runs": "mlperf.datasets.campaigns.trainer_runs",
        "TrainerRuns": "mlperf.datasets.campaigns.trainer_runs",
        "fit_costs": "mlperf.systems.trainer_accuracy.costs",
        "Costs": "mlperf.systems.trainer_accuracy.costs",
        "split_errors": "mlperf.systems.trainer_accuracy.split",
        "headline_errors": "mlperf.systems.trainer_accuracy.headline",
        "rank_windows": "mlperf.systems.trainer_accuracy.ranking",
        "compare_components": "mlperf.systems.trainer_accuracy.component_comparison",
    },
)
