"""The methods that tasks share: fixed global fits as baselines, local forms, learners, the family's best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlperf.models.estimators.choice.best_of_family import BestOfFamily
from mlperf.models.estimators.learning.boosted import BoostedResidual
from mlperf.models.estimators.learning.learners import LogLearner
from mlperf.models.estimators.local.ratio_local import RatioLocal
from mlperf.models.estimators.local.scatter_local import ScatterLocal
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.trial import Method

MAX_ITER = 250
"""Rounds of boosting, fixed before any error was looked at."""


@dataclass(frozen=True, slots=True)
class Form:
    """What the methods of a task fit: ``terms`` of sums of costs, ``sizes`` for distances, ``columns`` for learners."""

    terms: tuple[str, ...]
    sizes: tuple[str, ...]
    columns: tuple[str, ...]


def plain(form: Form) -> Any:
    """OLS on seconds with every term."""
    return fixed_terms(form, "absolute")


def weighted(form: Form) -> Any:
    """Least squares of relative residuals with every term."""
    return fixed_terms(form, "relative")


def fixed_terms(form: Form, noise: str) -> Any:
    """Least squares with every term and a constant, nothing selected."""
    return StepwiseOLS(terms=list(form.terms), noise=noise, max_steps=0, report="none")


def stepwise(form: Form) -> Any:
    """Terms chosen by AIC on relative residuals."""
    return StepwiseOLS(terms=list(form.terms), noise="relative", report="none")


def nonnegative(form: Form) -> Any:
    """Non-negative coefficients on relative residuals."""
    return NonNegativeOLS(list(form.terms), n_draws=0)


def ratio(form: Form) -> Any:
    """Global weighted model times the ratio that neighbours are off by."""
    return RatioLocal(list(form.terms), list(form.sizes))


def local(form: Form) -> Any:
    """Small weighted linear model around every query; its number of neighbours is chosen on training rows."""
    return ScatterLocal(list(form.terms), list(form.sizes))


def boosting(form: Form) -> Any:
    """scikit-learn's histogram boosting of log time, on columns and terms."""
    return LogLearner("boosting", list(form.columns), n_folds=0)


def boosted(form: Form) -> Any:
    """Non-negative physical model times exp of boosted trees."""
    return BoostedResidual(nonnegative(form), list(form.columns), max_iter=MAX_ITER)


MAKERS: Mapping[str, Callable[[Form], Any]] = {
    "OLS": plain,
    "WLS": weighted,
    "stepwise": stepwise,
    "nonnegative": nonnegative,
    "ratio": ratio,
    "local": local,
    "boosted": boosted,
    "HGB": boosting,
}
BASELINES = ("OLS", "WLS", "HGB")


def methods(
    form: Form,
    default: str,
    others: Mapping[str, str] | None = None,
    family: Sequence[str] = (),
    n_folds: int = 5,
    split: Callable[[Any], Sequence[Fold]] | None = None,
) -> list[Method]:
    """The default of a task, others with their roles, the family's best chosen inside the training rows, and the baselines."""
    chosen = {default: "default", **(others or {}), **{name: "baseline" for name in BASELINES if name != default}}
    made = [Method(name, role, bound(name, form)) for name, role in chosen.items()]
    if family:
        made.insert(1, Method("best", "best", lambda: best(form, family, n_folds, split)))
    return made


def best(form: Form, family: Sequence[str], n_folds: int = 5, split: Callable[[Any], Sequence[Fold]] | None = None) -> Any:
    """The best of some makers, chosen inside the training rows."""
    return BestOfFamily({name: bound(name, form) for name in family}, n_folds, split=split)


def bound(name: str, form: Form) -> Callable[[], Any]:
    """A maker that needs no argument any more."""
    return lambda: MAKERS[name](form)
