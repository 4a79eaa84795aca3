"""The package's regressors of whole tables: one name for each class, in model files and wherever one is chosen by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from mlperf.core.errors import UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.models.regressor import Regressor

STORED: Mapping[str, str] = MappingProxyType(
    {
        "stepwise_ols": "mlperf.models.estimators.stepwise.stepwise:StepwiseOLS",
        "nonnegative": "mlperf.models.estimators.members.nonnegative:NonNegativeOLS",
        "log": "mlperf.models.estimators.members.log_linear:LogOLS",
        "log_stepwise": "mlperf.models.estimators.stepwise.log_stepwise:LogStepwiseOLS",
        "huber": "mlperf.models.estimators.members.robust:HuberOLS",
        "quantile": "mlperf.models.estimators.members.quantile:QuantileOLS",
        "censored_normal": "mlperf.models.estimators.members.censored:CensoredNormal",
        "grid_local": "mlperf.models.estimators.local.grid_local:GridLocal",
        "scatter_local": "mlperf.models.estimators.local.scatter_local:ScatterLocal",
        "ratio_local": "mlperf.models.estimators.local.ratio_local:RatioLocal",
        "boosted_residual": "mlperf.models.estimators.learning.boosted:BoostedResidual",
        "form_average": "mlperf.models.estimators.choice.form_average:FormAverage",
        "recursive_least_squares": "mlperf.models.online.recursive:RecursiveLeastSquares",
    }
)
"""Name, which is the kind in a model file, to the class that reads and writes it."""

REGRESSORS: Mapping[str, str] = MappingProxyType(
    {
        **STORED,
        "group_jackknife": "mlperf.models.estimators.members.group_jackknife:GroupJackknifeOLS",
        "learner": "mlperf.models.estimators.learning.learners:LogLearner",
        "selected_terms": "mlperf.models.estimators.choice.selected_terms:SelectedTerms",
        "best_of_family": "mlperf.models.estimators.choice.best_of_family:BestOfFamily",
    }
)
"""Name to class of every regressor; those that are not in `STORED` have no model file of their own."""


def load_class(home: str) -> Any:
    """The class at ``"module:Class"``, imported when first needed."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def make_regressor(name: str, *arguments: Any, **options: Any) -> Regressor:
    """An unfitted regressor by its name.

    Parameters
    ----------
    name : str
        Of `REGRESSORS`.
    *arguments, **options
        Of its class.

    Raises
    ------
    UsageError
        There is none of that name.
    """
    if name not in REGRESSORS:
        raise UsageError(f"got regressor {name!r}, expected one of {', '.join(REGRESSORS)}", hint=nearest_hint(name, REGRESSORS))
    made: Regressor = load_class(REGRESSORS[name])(*arguments, **options)
    return made
