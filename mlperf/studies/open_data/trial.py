"""One table with its splits, and how a method is scored on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.models.regressor import Regressor
from mlperf.models.validation.folds import Fold
from mlperf.models.validation.left_out import left_out as leave_rows_out
from mlperf.models.validation.scores import adjusted_r2, coverage, half_width, relative_errors
from mlperf.studies.open_data.result import NAN, Score


@dataclass(frozen=True, slots=True)
class Method:
    """Something to score: ``make`` returns an unfitted estimator; ``has_interval`` asks it for prediction intervals."""

    name: str
    role: str
    make: Callable[[], Regressor]
    has_interval: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One device's table with its splits.

    ``X`` (n_rows, n_columns) and ``y`` (n_rows,), seconds; ``groups`` (n_rows,) what was kept together, None where every row is
    a group; ``n_terms`` the columns that R² is adjusted for.
    """

    task: str
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
    rows = leave_rows_out(method.make, trial.X, trial.y, trial.groups, trial.folds, intervals=method.has_interval)
    order = np.concatenate([fold.test for fold in trial.folds])
    arrays = (rows.predicted, rows.measured, rows.lower, rows.upper)
    predicted, measured, lower, upper = (each[order] for each in arrays)
    inside = rows.in_domain[order]
    return LeftOut(predicted, measured, lower, upper, inside, rows.knows_domain, rows.fit_s, joined(rows.choices))


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
    size = np.maximum(answers.predicted, np.finfo(float).tiny)
    return Score(
        task=trial.task,
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
        coverage=coverage(answers.lower, answers.upper, answers.measured),
        half_width=half_width(answers.lower, answers.upper, size),
        fit_s=answers.fit_s,
        choice=answers.choice,
    )
