"""Learning while a stream arrives: recursive least squares, hedging, intervals and scores that never look ahead."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "RecursiveLeastSquares": "mlperf.models.online.recursive",
        "Recursion": "mlperf.models.online.recursion",
        "RecursionSettings": "mlperf.models.online.recursion",
        "Hedge": "mlperf.models.online.hedge",
        "HedgeSettings": "mlperf.models.online.hedge",
        "AdaptiveInterval": "mlperf.models.online.conformal",
        "RunningErrors": "mlperf.models.online.forecaster",
        "Forecaster": "mlperf.models.online.forecaster",
        "Forecast": "mlperf.models.online.forecaster",
        "ForecasterSettings": "mlperf.models.online.forecaster",
        "MEMBERS": "mlperf.models.online.members",
        "LEARNERS": "mlperf.models.online.learners",
        "LearnerMember": "mlperf.models.online.learners",
        "prequential": "mlperf.models.online.protocol",
        "Prequential": "mlperf.models.online.protocol",
    },
)
