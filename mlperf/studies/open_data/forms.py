"""The methods that tasks share: fixed global fits as baselines, local forms, learners, the family's best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf.models.estimators.choice.best_of_family import BestOfFamily
from mlperf.models.registry import make_regressor
from mlperf.models.regressor import Regressor
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.scoring.result import TaskResult, figures_of
from mlperf.studies.open_data.scoring.trial import Method, Trial, score

MAX_ITER = 250
"""Rounds of boosting, fixed before any error was looked at."""


@dataclass(frozen=True, slots=True)
class Form:
    """What the methods of a task fit: ``terms`` of sums of costs, ``sizes`` for distances, ``columns`` for learners."""

    terms: tuple[str, ...]
    sizes: tuple[str, ...]
    columns: tuple[str, ...]


def fixed_terms(form: Form, noise: str) -> Regressor:
    """Least squares with every term and a constant, nothing selected."""
    return make_regressor("stepwise_ols", terms=list(form.terms), noise=noise, max_steps=0, report="none")


def nonnegative(form: Form) -> Regressor:
    """Non-negative coefficients on relative residuals."""
    return make_regressor("nonnegative", list(form.terms), n_draws=0)


MAKERS: Mapping[str, Callable[[Form], Regressor]] = {
    "OLS": lambda form: fixed_terms(form, "absolute"),
    "WLS": lambda form: fixed_terms(form, "relative"),
    "stepwise": lambda form: make_regressor("stepwise_ols", terms=list(form.terms), noise="relative", report="none"),
    "nonnegative": nonnegative,
    "ratio": lambda form: make_regressor("ratio_local", list(form.terms), list(form.sizes)),
    "local": lambda form: make_regressor("scatter_local", list(form.terms), list(form.sizes)),
    "boosted": lambda form: make_regressor("boosted_residual", nonnegative(form), list(form.columns), max_iter=MAX_ITER),
    "HGB": lambda form: make_regressor("learner", "boosting", list(form.columns), n_folds=0),
}
"""Methods by the name that tasks and tables call them."""
BASELINES = ("OLS", "WLS", "HGB")
FAMILY = ("ratio", "local", "boosted", "HGB")
LOCAL_AND_BEST = (("local", "mape"), ("best", "mape"))


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


def scored_by(
    trial_of: Callable[[str, Path | None], Trial],
    form: Form,
    figures: Sequence[tuple[str, str]],
    default: str = "ratio",
    family: Sequence[str] = FAMILY,
) -> Callable[[str, Path | None], TaskResult]:
    """A task that scores the methods of a form on one trial a device; ``figures``, of which method what, are its findings."""

    def run(device: str, folder: Path | None) -> TaskResult:
        trial = trial_of(device, folder)
        scores = [score(method, trial) for method in methods(form, default, {"local": "local"}, family)]
        return TaskResult(tuple(scores), tuple(figures_of(scores, figures)))

    return run


def best(form: Form, family: Sequence[str], n_folds: int = 5, split: Callable[[Any], Sequence[Fold]] | None = None) -> Any:
    """The best of some makers, chosen inside the training rows."""
    return BestOfFamily({name: bound(name, form) for name in family}, n_folds, split=split)


def bound(name: str, form: Form) -> Callable[[], Any]:
    """A maker that needs no argument any more."""
    return lambda: MAKERS[name](form)
