"""What `mlperf.studies.open_data` imports on first use, as type checkers see it."""

from mlperf.studies.open_data.limits import read_limits
from mlperf.studies.open_data.markdown import check_ending, write_accuracy
from mlperf.studies.open_data.run import run_tasks
from mlperf.studies.open_data.scoring.result import Finding, Goal, OpenAccuracy, Score
from mlperf.studies.open_data.tasks import TASKS, task_names

__all__ = [
    "TASKS",
    "Finding",
    "Goal",
    "OpenAccuracy",
    "Score",
    "check_ending",
    "read_limits",
    "run_tasks",
    "task_names",
    "write_accuracy",
]
