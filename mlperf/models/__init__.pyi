"""What `mlperf.models` imports on first use, as type checkers see it."""

from mlperf.models.estimators.choice.best_of_family import BestOfFamily
from mlperf.models.estimators.choice.family import choose_family
from mlperf.models.estimators.choice.form_average import FormAverage
from mlperf.models.estimators.choice.selected_terms import SelectedTerms
from mlperf.models.estimators.learning.boosted import BoostedResidual
from mlperf.models.estimators.learning.learner_store import read_learner, write_learner
from mlperf.models.estimators.learning.learners import LogLearner
from mlperf.models.estimators.local.grid_local import GridLocal
from mlperf.models.estimators.local.ratio_local import RatioLocal
from mlperf.models.estimators.local.scatter_local import ScatterLocal
from mlperf.models.estimators.members.censored import CensoredNormal
from mlperf.models.estimators.members.group_jackknife import GroupJackknifeOLS
from mlperf.models.estimators.members.log_linear import LogOLS
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.members.quantile import QuantileOLS
from mlperf.models.estimators.members.robust import HuberOLS
from mlperf.models.estimators.stepwise.log_stepwise import LogStepwiseOLS
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.online.recursive import RecursiveLeastSquares
from mlperf.models.storage.extra_p import component_experiment, read_extrap, write_extrap
from mlperf.models.storage.store import read_model, write_model
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.intervals import Interval

__all__ = [
    "BestOfFamily",
    "BoostedResidual",
    "CensoredNormal",
    "Domain",
    "FormAverage",
    "GridLocal",
    "GroupJackknifeOLS",
    "HuberOLS",
    "Interval",
    "LogLearner",
    "LogOLS",
    "LogStepwiseOLS",
    "NonNegativeOLS",
    "QuantileOLS",
    "RatioLocal",
    "RecursiveLeastSquares",
    "ScatterLocal",
    "SelectedTerms",
    "StepwiseOLS",
    "choose_family",
    "component_experiment",
    "read_extrap",
    "read_learner",
    "read_model",
    "write_extrap",
    "write_learner",
    "write_model",
]
