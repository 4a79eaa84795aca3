"""An estimator that takes the best member of a family by left-out groups of its training rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.models.estimators.choice.family import DEFAULT, choose_family
from mlperf.models.estimators.time_regressor import TimeRegressor
from mlperf.models.formula.inputs import query_frame, training_rows
from mlperf.models.uncertainty.difficulty import left_out_scores
from mlperf.models.uncertainty.intervals import Interval, check_kind, conformal_interval
from mlperf.models.validation.folds import Fold, configuration_groups, group_labels, grouped_folds
from mlperf.models.validation.left_out import fold_numbers


@dataclass(eq=False, repr=False)
class BestOfFamily(TimeRegressor):
    """The member with the smallest error on left-out groups of the training rows, then fitted to all of them.

    Rows that a prediction is judged by take no part in the choice, so the error of the choice is in its left-out error.

    Parameters
    ----------
    members : sequence of str, or mapping of str to callable
        Names that `choose_family` knows, or factories of unfitted estimators, simplest first: ties within one standard error go to
        the simpler one.
    n_folds : int
        Grouped folds inside the training rows.
    seed : int
        Of the folds.
    split : callable, optional
        Makes the inner folds from the training columns, where random ones would ask another question than the outer split.

    Attributes
    ----------
    choice_ : str
        Name of the member taken.
    member_ : estimator
        That member, fitted to all training rows.
    """

    uses_groups = True

    members: Sequence[str] | Mapping[str, Callable[[], Any]] = DEFAULT
    n_folds: int = 5
    seed: int = 0
    split: Callable[[Any], Sequence[Fold]] | None = None

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose on left-out groups, then fit the chosen member.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
            Positive times.
        groups : array-like, shape (n_samples,), optional
            Left out together; default identical rows of features.

        Raises
        ------
        FitError
            A time that is not positive, fewer than two groups, or no member could be fitted.
        """
        rows = training_rows(self, X, y, n_least=2)
        frame, times = _frame(X, rows.frame), rows.y
        keys = configuration_groups(frame) if groups is None else group_labels(groups, len(times))
        folds = grouped_folds(keys, self.n_folds, self.seed) if self.split is None else self.split(frame)
        found = choose_family(frame, times, keys, members=self.members, folds=folds, seed=self.seed)
        self.choice_, self.member_ = found.chosen, found.estimator
        left_out, fold_of = found.predictions[found.chosen], fold_numbers(folds, len(times))
        tested = fold_of >= 0
        logs = np.log(times[tested] / np.maximum(left_out[tested], times.min() / 4.0))
        self.residuals_, self.difficulty_ = left_out_scores(_numbers(frame)[tested], logs, fold_of[tested])
        return self

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,)."""
        frame = self._query(X)
        return np.asarray(self.member_.predict(frame))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the member's measured domain, shape (n_rows,)."""
        frame = self._query(X)
        return np.asarray(self.member_.in_domain(frame))

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of every row from the errors on left-out groups of the training rows."""
        check_kind(kind, level)
        frame = self._query(X)
        size = 1.0 if self.difficulty_ is None else self.difficulty_.at(_numbers(frame))
        logs = conformal_interval(np.log(self.member_.predict(frame)), self.residuals_, "log", level, size)
        return Interval(np.exp(logs.lower), np.exp(logs.upper), level)

    def _query(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self, "member_")
        return _frame(X, query_frame(self, X))


def _frame(X: Any, checked: pd.DataFrame) -> pd.DataFrame:
    """A frame with names as it was given, whole numbers still whole; else the checked one."""
    return X if isinstance(X, pd.DataFrame) and all(isinstance(name, str) for name in X) else checked


def _numbers(frame: pd.DataFrame) -> FloatArray:
    """Numeric columns, shape (n_rows, n_numeric)."""
    return np.asarray(frame.select_dtypes("number"), dtype=np.float64)
