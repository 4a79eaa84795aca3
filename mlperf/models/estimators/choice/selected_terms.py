"""An estimator whose terms the relative least-squares fit selects and whose coefficients another member fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.models.estimators.time_regressor import TimeRegressor
from mlperf.models.uncertainty.intervals import Interval


@dataclass(eq=False, repr=False)
class SelectedTerms(MetaEstimatorMixin, TimeRegressor):  # type: ignore[misc]
    """Backward selection by AIC on relative residuals, then ``estimator`` on the terms that are left.

    Members without a likelihood (non-negative, Huber, quantile) have no AIC of their own to select by.

    Parameters
    ----------
    estimator : estimator with ``terms``
        Its terms are the candidates; default every column.

    Attributes
    ----------
    selection_ : StepwiseOLS
        The selecting fit with its path.
    member_ : estimator
        The fitted member.
    """

    estimator: Any

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select, then fit the member; see the member's ``fit``.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
            Positive times.
        sample_weight : array-like, shape (n_samples,), optional
            Precision weights >= 0 of selection and member; the selection's criterion counts each row once,
            also those of weight zero, as `StepwiseOLS` does.
        """
        from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS

        self.selection_ = StepwiseOLS(terms=self.estimator.terms, noise="relative", report="none").fit(X, y, sample_weight)
        kept = tuple(self.selection_.terms_)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.member_ = clone(self.estimator).set_params(terms=kept).fit(X, y, **weights)
        self.n_features_in_ = self.selection_.n_features_in_
        if hasattr(self.selection_, "feature_names_in_"):
            self.feature_names_in_ = self.selection_.feature_names_in_
        return self

    @property
    def coef_(self) -> FloatArray:
        """Coefficients of the kept terms."""
        return np.asarray(self.member_.coef_)

    @property
    def intercept_(self) -> float:
        """Constant of the member."""
        return float(self.member_.intercept_)

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,)."""
        check_is_fitted(self, "member_")
        return np.asarray(self.member_.predict(X))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        return np.asarray(self.member_.in_domain(X))

    def predict_interval(self, X: Any, kind: str = "mean", level: float = 0.95) -> Interval:
        """The member's interval."""
        interval: Interval = self.member_.predict_interval(X, kind=kind, level=level)
        return interval

    def sample(self, X: Any, rng: np.random.Generator, size: int, kind: str = "mean") -> FloatArray:
        """The member's draws, shape (size, n_rows)."""
        return np.asarray(self.member_.sample(X, rng, size, kind))
