"""Regressors for times: selection, the family, local models, learners; intervals, domain, storage. No CNN is known here."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "StepwiseOLS": "mlperf.models.estimators.stepwise.stepwise",
        "LogStepwiseOLS": "mlperf.models.estimators.stepwise.log_stepwise",
        "NonNegativeOLS": "mlperf.models.estimators.members.nonnegative",
        "LogOLS": "mlperf.models.estimators.members.log_linear",
        "HuberOLS": "mlperf.models.estimators.members.robust",
        "QuantileOLS": "mlperf.models.estimators.members.quantile",
        "CensoredNormal": "mlperf.models.estimators.members.censored",
        "GroupJackknifeOLS": "mlperf.models.estimators.members.group_jackknife",
        "GridLocal": "mlperf.models.estimators.local.grid_local",
        "ScatterLocal": "mlperf.models.estimators.local.scatter_local",
        "RatioLocal": "mlperf.models.estimators.local.ratio_local",
        "FormAverage": "mlperf.models.estimators.choice.form_average",
        "BoostedResidual": "mlperf.models.estimators.learning.boosted",
        "LogLearner": "mlperf.models.estimators.learning.learners",
        "RecursiveLeastSquares": "mlperf.models.online.recursive",
        "SelectedTerms": "mlperf.models.estimators.choice.selected_terms",
        "BestOfFamily": "mlperf.models.estimators.choice.best_of_family",
        "choose_family": "mlperf.models.estimators.choice.family",
        "Domain": "mlperf.models.uncertainty.domain",
        "Interval": "mlperf.models.uncertainty.intervals",
        "read_model": "mlperf.models.storage.store",
        "write_model": "mlperf.models.storage.store",
        "read_learner": "mlperf.models.estimators.learning.learner_store",
        "write_learner": "mlperf.models.estimators.learning.learner_store",
        "read_extrap": "mlperf.models.storage.extra_p",
        "write_extrap": "mlperf.models.storage.extra_p",
        "component_experiment": "mlperf.models.storage.extra_p",
    },
)
