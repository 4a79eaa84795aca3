"""The family's best, chosen on training rows only: left-out rows take no part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.models.estimators.choice.family import choose_family
from mlperf.models.uncertainty.difficulty import left_out_scores
from mlperf.models.uncertainty.intervals import Interval, check_kind, conformal_interval
from mlperf.models.validation.folds import Fold, configuration_groups, grouped_folds
from mlperf.models.validation.left_out import fold_numbers


class InnerChoice(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The member with the smallest error on left-out groups of the training rows, then fitted to all of them.

    Parameters
    ----------
    members : mapping of str to callable
        Factories of unfitted estimators, simplest first: ties within one standard error go to the simpler one.
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
    """

    uses_groups = True

    def __init__(
        self,
        members: Mapping[str, Callable[[], Any]],
        n_folds: int = 5,
        seed: int = 0,
        split: Callable[[Any], Sequence[Fold]] | None = None,
    ) -> None:
        self.members = members
        self.n_folds = n_folds
        self.seed = seed
        self.split = split

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose on left-out groups (default identical rows of features), then fit the chosen member."""
        keys = configuration_groups(X) if groups is None else np.asarray(groups)
        times = np.asarray(y, dtype=float)
        folds = grouped_folds(keys, self.n_folds, self.seed) if self.split is None else self.split(X)
        found = choose_family(X, times, keys, members=self.members, folds=folds, seed=self.seed)
        self.choice_, self.member_ = found.chosen, found.estimator
        left_out, fold_of = found.predictions[found.chosen], fold_numbers(folds, len(times))
        tested = fold_of >= 0
        logs = np.log(times[tested] / np.maximum(left_out[tested], times.min() / 4.0))
        self.residuals_, self.difficulty_ = left_out_scores(_numbers(X)[tested], logs, fold_of[tested])
        return self

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,)."""
        return np.asarray(self.member_.predict(X))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the member's measured domain, shape (n_rows,)."""
        return np.asarray(self.member_.in_domain(X))

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of every row from the errors on left-out groups of the training rows."""
        check_kind(kind, level)
        size = 1.0 if self.difficulty_ is None else self.difficulty_.at(_numbers(X))
        logs = conformal_interval(np.log(self.predict(X)), self.residuals_, "log", level, size)
        return Interval(np.exp(logs.lower), np.exp(logs.upper), level)


def _numbers(X: Any) -> FloatArray:
    """Numeric columns of a frame, or an array as it is."""
    return np.asarray(X.select_dtypes("number") if hasattr(X, "select_dtypes") else X, dtype=np.float64)
