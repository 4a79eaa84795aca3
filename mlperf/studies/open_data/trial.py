"""One table with its splits, and how a method is scored on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import FitError
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.folds import Fold, check_folds, take_rows
from mlperf.models.validation.scores import relative_errors
from mlperf.studies.open_data.result import NAN, Goal, Score, judged

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Method:
    """Something to score: ``make`` returns an unfitted estimator; ``has_interval`` asks it for prediction intervals."""

    name: str
    role: str
    make: Callable[[], Any]
    has_interval: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One device's table with its splits.

    ``X`` (n_rows, n_columns) and ``y`` (n_rows,), seconds; ``groups`` (n_rows,) what was kept together, None where every row is
    a group; ``n_terms`` the columns that R² is adjusted for.
    """

    rung: str
    device: str
    X: pd.DataFrame
    y: FloatArray
    folds: Sequence[Fold]
    n_terms: int
    groups: Any = None
    part: str = ""
    noise_floor: float = NAN

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.y) if self.groups is None else len(pd.unique(np.asarray(self.groups)))


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Answers of a method on left-out rows, every array of shape (n_tested,); intervals NaN where there are none."""

    predicted: FloatArray
    measured: FloatArray
    lower: FloatArray
    upper: FloatArray
    inside: BoolArray
    knows_domain: bool
    fit_s: float
    choice: str


def score(method: Method, trial: Trial) -> Score:
    """Fit the method on every training part and compare what it says of the left-out rows."""
    return score_of(left_out(method, trial), method.name, method.role, trial)


def left_out(method: Method, trial: Trial) -> LeftOut:
    """Answers for all tested rows, fold after fold.

    Raises
    ------
    DataError
        A split leaks.
    """
    check_folds(trial.folds, trial.X, trial.groups)
    parts, choices, spent, knows = [], [], 0.0, True
    for fold in trial.folds:
        model, train = method.make(), take_rows(trial.X, fold.train)
        keys = {} if trial.groups is None else {"groups": np.asarray(trial.groups)[fold.train]}
        started = time.process_time()
        model.fit(train, trial.y[fold.train], **(keys if getattr(model, "uses_groups", False) else {}))
        spent += time.process_time() - started
        rows = take_rows(trial.X, fold.test)
        predicted = np.asarray(model.predict(rows), dtype=float)
        interval = run_interval(model, rows, len(predicted)) if method.has_interval else no_interval(len(predicted))
        knows = knows and hasattr(model, "in_domain")
        inside = np.asarray(model.in_domain(rows)) if knows else np.zeros(len(predicted), dtype=bool)
        parts.append((predicted, trial.y[fold.test], interval.lower, interval.upper, inside))
        choices.append(choice_of(model))
    predicted, measured, lower, upper, inside = (np.concatenate(column) for column in zip(*parts, strict=True))
    return LeftOut(predicted, measured, lower, upper, inside, knows, spent, joined(choices))


def run_interval(model: Any, rows: Any, n_rows: int) -> Interval:
    """95 % prediction interval of every row; NaN where the model has none."""
    try:
        return Interval(*_bounds(model.predict_interval(rows, kind="run", level=LEVEL)), LEVEL)
    except (AttributeError, FitError):
        return no_interval(n_rows)


def _bounds(interval: Interval) -> tuple[FloatArray, FloatArray]:
    return interval.lower, interval.upper


def no_interval(n_rows: int) -> Interval:
    """NaN for every row."""
    return Interval(np.full(n_rows, NAN), np.full(n_rows, NAN), LEVEL)


def choice_of(model: Any) -> str:
    """What a fitted model chose by itself, in a word."""
    if hasattr(model, "choice_"):
        return str(model.choice_)
    return f"k = {model.k_}" if hasattr(model, "k_") else ""


def joined(choices: Sequence[str]) -> str:
    """Each choice once, the most frequent first."""
    counts = pd.Series([choice for choice in choices if choice], dtype=object).value_counts()
    if len(counts) < 2:
        return "".join(counts.index)
    return ", ".join(f"{name} ({count} of {len(choices)})" for name, count in counts.items())


def score_of(answers: LeftOut, name: str, role: str, trial: Trial) -> Score:
    """Figures of a method's answers."""
    errors = relative_errors(np.maximum(answers.predicted, 0.0), answers.measured)
    raw = relative_errors(answers.predicted, answers.measured)
    known = np.isfinite(answers.lower)
    covered = (answers.lower <= answers.measured) & (answers.measured <= answers.upper)
    width = (answers.upper - answers.lower) / (2.0 * np.maximum(answers.predicted, np.finfo(float).tiny))
    return Score(
        rung=trial.rung,
        device=trial.device,
        part=trial.part,
        method=name,
        role=role,
        n_train=max(len(fold.train) for fold in trial.folds),
        n_test=errors.n,
        n_groups=trial.n_groups,
        n_terms=trial.n_terms,
        r2_adj=adjusted_r2(answers.predicted, answers.measured, trial.n_terms),
        mape=errors.mape,
        median=errors.median,
        q3=errors.q3,
        max=errors.max,
        bias=errors.bias,
        mape_unclipped=raw.mape,
        nonpositive=raw.nonpositive,
        noise_floor=trial.noise_floor,
        in_domain=float(answers.inside.mean()) if answers.knows_domain else NAN,
        coverage=float(covered[known].mean()) if known.any() else NAN,
        half_width=float(np.median(width[known])) if known.any() else NAN,
        fit_s=answers.fit_s,
        choice=answers.choice,
    )


def adjusted_r2(predicted: FloatArray, measured: FloatArray, n_terms: int) -> float:
    """R² about the mean of the rows, adjusted for ``n_terms`` columns and a constant; NaN where too few rows are left."""
    total = float(((measured - measured.mean()) ** 2).sum())
    free = len(measured) - n_terms - 1
    if total == 0.0 or free <= 0:
        return NAN
    rest = float(((measured - predicted) ** 2).sum())
    return 1.0 - (rest / free) / (total / (len(measured) - 1))


FIGURES = {"mape": "MAPE", "q3": "third quartile", "in_domain": "share in domain"}


@dataclass(frozen=True, slots=True)
class Limit:
    """One goal for every device of a rung: figure of a method, at most (or at least) ``values`` in the order of the devices."""

    method: str
    figure: str
    values: tuple[float, ...]
    at_least: bool = False


def goals_of(scores: Sequence[Score], limits: Sequence[Limit], devices: Sequence[str], device: str) -> list[Goal]:
    """Goals of one of the ``devices`` that the limits are given for, in their order; none for another device."""
    if device not in devices:
        return []
    place = devices.index(device)
    by_method = {one.method: one for one in scores}
    goals = []
    for limit in limits:
        one, value = by_method[limit.method], limit.values[place]
        lower, upper = (value, NAN) if limit.at_least else (NAN, value)
        goals.append(
            judged(
                one.rung, one.device, f"{limit.method}: {FIGURES[limit.figure]}", float(getattr(one, limit.figure)), lower, upper
            )
        )
    return goals
