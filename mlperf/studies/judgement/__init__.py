"""The judgement that is fixed before its runs are made: docs/explanation/judgement.md."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "plan_judgement": "mlperf.studies.judgement.plan",
        "JudgementPlan": "mlperf.studies.judgement.plan",
        "JudgedRun": "mlperf.studies.judgement.plan",
        "bundled_judgements": "mlperf.studies.judgement.runs",
        "judgement_folder": "mlperf.studies.judgement.runs",
        "read_judgement": "mlperf.studies.judgement.runs",
        "judge_runs": "mlperf.studies.judgement.judge",
        "Judgement": "mlperf.studies.judgement.result",
    },
)
