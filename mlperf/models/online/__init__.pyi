"""What `mlperf.models.online` imports on first use, as type checkers see it."""

from mlperf.models.online.conformal import AdaptiveInterval
from mlperf.models.online.forecaster import Forecast, Forecaster, ForecasterSettings, RunningErrors
from mlperf.models.online.hedge import Hedge, HedgeSettings
from mlperf.models.online.learners import LEARNERS, LearnerMember
from mlperf.models.online.members import MEMBERS
from mlperf.models.online.protocol import Prequential, prequential
from mlperf.models.online.recursion import Recursion, RecursionSettings
from mlperf.models.online.recursive import RecursiveLeastSquares

__all__ = [
    "LEARNERS",
    "MEMBERS",
    "AdaptiveInterval",
    "Forecast",
    "Forecaster",
    "ForecasterSettings",
    "Hedge",
    "HedgeSettings",
    "LearnerMember",
    "Prequential",
    "Recursion",
    "RecursionSettings",
    "RecursiveLeastSquares",
    "RunningErrors",
    "prequential",
]
