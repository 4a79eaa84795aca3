"""What `mlperf.studies.judgement` imports on first use, as type checkers see it."""

from mlperf.studies.judgement.judge import judge_runs
from mlperf.studies.judgement.plan import JudgedRun, JudgementPlan, plan_judgement
from mlperf.studies.judgement.result import Judgement
from mlperf.studies.judgement.runs import bundled_judgements, judgement_folder, read_judgement

__all__ = [
    "JudgedRun",
    "Judgement",
    "JudgementPlan",
    "bundled_judgements",
    "judge_runs",
    "judgement_folder",
    "plan_judgement",
    "read_judgement",
]
