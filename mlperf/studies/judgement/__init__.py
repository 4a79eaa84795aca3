"""The judgement that is fixed before its runs are made: docs/explanation/judgement.md."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "plan_judgement": "mlperf.studies.judgement.plan",
        "JudgementPlan": "mlperf.studies.judgement.plan",
        "JudgedRun": "mlperf.studies.judgement.plan",
    },
)
