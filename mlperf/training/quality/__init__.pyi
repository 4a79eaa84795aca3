"""What `mlperf.training.quality` imports on first use, as type checkers see it."""

from mlperf.training.quality.epochs import epochs_to_target, quality_rows
from mlperf.training.quality.fit import fit_quality, fit_quality_table
from mlperf.training.quality.judgement import NodeJudgement
from mlperf.training.quality.objective import TimeToTarget, time_to_target
from mlperf.training.quality.quality_model import EpochsToTarget, QualityModel

__all__ = [
    "EpochsToTarget",
    "NodeJudgement",
    "QualityModel",
    "TimeToTarget",
    "epochs_to_target",
    "fit_quality",
    "fit_quality_table",
    "quality_rows",
    "time_to_target",
]
