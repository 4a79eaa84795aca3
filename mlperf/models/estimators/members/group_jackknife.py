"""Non-negative least squares of times with prediction intervals from whole groups that were left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.models.algebra.small_system import reduce_rows
from mlperf.models.estimators.members.nonnegative import nonnegative_coefficients
from mlperf.models.estimators.time_regressor import TimeRegressor
from mlperf.models.formula.inputs import Rows, finite_columns, learn_terms, query_frame, training_rows
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.intervals import Interval, check_kind
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.validation.folds import Fold, configuration_groups, group_labels, leave_one_group_out
from mlperf.models.validation.left_out import over_folds

QUANTILE_ROWS = 200
"""From here a 2.5 % tail holds five residuals, and their quantiles need no distribution; below, Student's t."""
LARGEST_LEVERAGE = 1e6


@dataclass(eq=False, repr=False)
class GroupJackknifeOLS(TimeRegressor):
    """Non-negative least squares of relative residuals; intervals from whole groups left out.

    Every group is left out once. A left-out relative residual is divided by sqrt(1 + h), h the leverage of its row in the fit that
    did not see it, so that a rare kind of row does not widen the interval of a common one. The interval of a new row is the
    prediction times 1 plus sqrt(1 + h) times quantiles of those residuals; where they are few, of Student's t with their mean
    square.

    Parameters
    ----------
    terms : sequence of str, optional
        Arithmetic expressions over columns, costs that add up; default every column.
    fit_intercept : bool
        Whether there is a constant, which is not negative either.

    Attributes
    ----------
    coef_ : array, shape (n_columns,)
        Of the constant, where there is one, and the terms; seconds per unit of the column, >= 0.
    residuals_ : array, shape (n_samples,)
        Left-out relative residuals over sqrt(1 + leverage).

    References
    ----------
    Barber, Candes, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+; Lei, G'Sell, Rinaldo, Tibshirani and
    Wasserman (2018), section 5.2, for residuals divided by their scale.
    """

    uses_groups = True

    terms: Sequence[str] | None = None
    fit_intercept: bool = True

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit all rows, and all but each group.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
            Positive times.
        groups : array-like, shape (n_samples,), optional
            Left out together; default identical rows of features.
        sample_weight : array-like, shape (n_samples,), optional
            Precision weights >= 0, on top of 1 / y^2: coefficients are those of rows repeated as often, with every group left out
            too; the residuals behind intervals count each row once, and rows of weight zero not.
        """
        rows = training_rows(self, X, y, sample_weight, terms=self.terms, n_least=2)
        keys = configuration_groups(rows.frame) if groups is None else group_labels(groups, np.shape(y)[0])[rows.kept]
        self.terms_ = learn_terms(self.terms, rows.frame, intercept=self.fit_intercept)
        columns = finite_columns(self.terms_, rows.frame)
        self.floor_ = float(rows.y.min()) / 4.0
        self.coef_, self.factor_ = solve(columns.matrix, rows.y, rows.weight)
        self.residuals_ = left_out_residuals(columns.matrix, rows, keys, self.floor_)
        self.domain_ = Domain.fit(rows.frame, columns.matrix, tuple(columns.names))
        return self

    def _design(self, X: Any) -> tuple[pd.DataFrame, FloatArray]:
        check_is_fitted(self, "coef_")
        frame = query_frame(self, X, terms=self.terms)
        return frame, finite_columns(self.terms_, frame).matrix

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,), at least a quarter of the smallest training time."""
        return self._evaluate(self._design(X)[1])

    def _evaluate(self, design: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(design @ self.coef_, self.floor_))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        return self.domain_.contains(*self._design(X))

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of every row; the error of the form outweighs the noise of a run, so both kinds are the same."""
        check_kind(kind, level)
        design = self._design(X)[1]
        predicted = self._evaluate(design)
        scale = np.sqrt(1.0 + leverage(design, self.factor_, predicted))
        low, high = self._quantiles(np.array([0.5 - level / 2.0, 0.5 + level / 2.0]))
        return Interval(predicted * (1.0 + low * scale), predicted * (1.0 + high * scale), level)

    def _quantiles(self, probability: FloatArray) -> FloatArray:
        if len(self.residuals_) >= QUANTILE_ROWS:
            return ResidualQuantiles.of(self.residuals_).at(probability)
        df = max(len(self.residuals_) - len(self.coef_), 1)
        return np.asarray(np.sqrt(np.mean(self.residuals_**2)) * stdtrit(df, probability))


def solve(design: FloatArray, y: FloatArray, weight: FloatArray | float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Non-negative coefficients of relative residuals, and the factor of the inverse of the weighted normal matrix."""
    system = reduce_rows(design, y, weight / y**2)
    return nonnegative_coefficients(system), system.inverse_factor()


def leverage(design: FloatArray, factor: FloatArray, predicted: FloatArray) -> FloatArray:
    """Variance of the fitted mean of each row over its prediction squared, in units of sigma², shape (n_rows,)."""
    return np.asarray(np.minimum((((design / predicted[:, None]) @ factor) ** 2).sum(axis=1), LARGEST_LEVERAGE))


def left_out_residuals(design: FloatArray, rows: Rows, groups: ArrayLike, floor: float) -> FloatArray:
    """Relative residuals over sqrt(1 + leverage) of rows whose group was left out, shape (n_rows,)."""

    def residual(fold: Fold) -> FloatArray:
        coef, factor = solve(design[fold.train], rows.y[fold.train], rows.weight[fold.train])
        predicted = np.maximum(design[fold.test] @ coef, floor)
        spread = np.sqrt(1.0 + leverage(design[fold.test], factor, predicted))
        return np.asarray((rows.y[fold.test] / predicted - 1.0) / spread)

    return over_folds(leave_one_group_out(groups), len(rows.y), residual)
