"""The equations and component models of SPRINT judged by runs of the asynchronous trainer."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "judge_trainer": "mlperf.studies.trainer.judge",
        "TrainerLimits": "mlperf.studies.trainer.limits",
        "read_trainer_limits": "mlperf.studies.trainer.limits",
        "TrainerAccuracy": "mlperf.studies.trainer.result",
        "read_runs": "mlperf.datasets.campaigns.trainer_runs",
        "TrainerRuns": "mlperf.datasets.campaigns.trainer_runs",
        "fit_costs": "mlperf.studies.trainer.costs",
        "Costs": "mlperf.studies.trainer.costs",
        "split_errors": "mlperf.studies.trainer.split",
        "headline_errors": "mlperf.studies.trainer.headline",
        "rank_windows": "mlperf.studies.trainer.ranking",
        "compare_components": "mlperf.studies.trainer.component_comparison",
    },
)
