"""One table with its splits, and how a method is scored on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.models.regressor import Regressor
from mlperf.models.validation.folds import Fold
from mlperf.models.validation.left_out import left_out as leave_rows_out
from mlperf.models.validation.scores import adjusted_r2, coverage, half_width, relative_errors
from mlperf.studies.open_data.scoring.result import NAN, Score

TRAIN_SHARE = 0.7


def seventy_thirty(n_rows: int, n_test: int | None = None) -> list[Fold]:
    """First 70 % of ``numpy.random.RandomState(0).permutation`` train, the rest (its first ``n_test``) test."""
    order = np.random.RandomState(0).permutation(n_rows)
    cut = int(TRAIN_SHARE * n_rows)
    return [Fold("30 %", order[:cut], order[cut:][:n_test])]


def first_rows(n_rows: int, n_train: int, n_test: int) -> list[Fold]:
    """The first ``n_train`` rows train, the next ``n_test`` test."""
    if n_rows < n_train + n_test:
        raise DataError(f"got {n_rows} rows, expected at least {n_train + n_test}")
    return [Fold(f"rows {n_train + 1} to {n_train + n_test}", np.arange(n_train), np.arange(n_train, n_train + n_test))]


def shuffled_folds(n_rows: int, n_folds: int = 10) -> list[Fold]:
    """scikit-learn's ``KFold(n_folds, shuffle=True, random_state=0)``."""
    parts = KFold(n_folds, shuffle=True, random_state=0).split(np.empty((n_rows, 1)))
    return [Fold(f"fold {number}", train, test) for number, (train, test) in enumerate(parts)]


def device_rows(frame: pd.DataFrame, device: str, configuration: list[str] | None = None) -> pd.DataFrame:
    """Rows of the one device of that name or with ``device`` in its name; the first row of each configuration where one is named.

    Raises
    ------
    DataError
        No device, or several, of that name.
    """
    names = [str(name) for name in pd.unique(frame["device"])]
    found = [device] if device in names else [name for name in names if device in name]
    if len(found) != 1:
        raise DataError(f"got {len(found)} devices called {device!r}, expected one of {', '.join(names)}", place="column device")
    rows = frame[frame["device"] == found[0]]
    if configuration is not None:
        rows = rows.drop_duplicates(subset=configuration)
    return rows.reset_index(drop=True)


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
