"""Regressors for times: selection, the family, local models, learners; intervals, domain, storage. No CNN is known here."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "StepwiseOLS": "mlperf.models.selection.stepwise",
        "NonNegativeOLS": "mlperf.models.members.nonnegative",
        "LogOLS": "mlperf.models.members.log_linear",
        "HuberOLS": "mlperf.models.members.robust",
        "QuantileOLS": "mlperf.models.members.quantile",
        "GridLocal": "mlperf.models.local.grid_local",
        "ScatterLocal": "mlperf.models.local.scatter_local",
        "RatioLocal": "mlperf.models.local.ratio_local",
        "BoostedResidual": "mlperf.models.learning.boosted",
        "LogLearner": "mlperf.models.learning.learners",
        "RecursiveLeastSquares": "mlperf.models.online.recursive",
        "choose_family": "mlperf.models.members.family",
        "Domain": "mlperf.models.uncertainty.domain",
        "Interval": "mlperf.models.uncertainty.intervals",
        "read_model": "mlperf.models.store",
        "write_model": "mlperf.models.store",
        "read_learner": "mlperf.models.learning.learner_store",
        "write_learner": "mlperf.models.learning.learner_store",
        "read_extrap": "mlperf.models.extrap",
        "write_extrap": "mlperf.models.extrap",
        "component_experiment": "mlperf.models.extrap",
    },
)
