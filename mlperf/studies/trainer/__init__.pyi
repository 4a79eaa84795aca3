"""What `mlperf.studies.trainer` imports on first use, as type checkers see it."""

from mlperf.studies.trainer.judge import judge_trainer
from mlperf.studies.trainer.limits import TrainerLimits, read_trainer_limits
from mlperf.studies.trainer.result import TrainerAccuracy

__all__ = [
    "TrainerAccuracy",
    "TrainerLimits",
    "judge_trainer",
    "read_trainer_limits",
]
