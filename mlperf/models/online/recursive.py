"""Recursive least squares as a scikit-learn regressor: `fit`, `partial_fit`, `predict`, and storage as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.json_fields import Fields
from mlperf.models.formula.evaluate import refuse_dates
from mlperf.models.online.recursion import Recursion, RecursionSettings


@dataclass(eq=False, repr=False)
class RecursiveLeastSquares(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression of a stream: rows are learnt one by one, in order, and old ones may fade.

    Parameters
    ----------
    forgetting : float
        lambda in (0, 1]: weight of a row relative to the next one. 1 makes the coefficients those of ordinary least squares.
    clip : float, optional
        Residuals count up to this many running mean absolute residuals (Huber); default in full.
    prior_variance : float, optional
        Variance of the coefficients around zero before the first row, relative to the noise; default no prior.
    max_trace : float, optional
        Cap of the covariance's trace; default the prior's trace.
    fit_intercept : bool
        Whether a constant column is added.

    Attributes
    ----------
    coef_ : array, shape (n_features,)
    intercept_ : float
    covariance_ : array, shape (n_columns, n_columns)
        Of the coefficients, in units of the noise variance, the intercept first; zeros while collinear rows leave it open.
    n_seen_ : int
        Rows learnt.

    See Also
    --------
    Recursion : The same on bare rows, at a few microseconds each.
    """

    forgetting: float = 1.0
    clip: float | None = None
    prior_variance: float | None = None
    max_trace: float | None = None
    fit_intercept: bool = True

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Forget everything, then learn the rows of X in order.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)

        Raises
        ------
        UsageError
            A setting outside its range.
        """
        refuse_dates(y, "y")
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        self.recursion_ = self._new(X.shape[1])
        return self._learn(X, np.asarray(y, dtype=np.float64))

    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn the rows of X in order, after those learnt before."""
        first = not hasattr(self, "recursion_")
        refuse_dates(y, "y")
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64, reset=first)
        if first:
            self.recursion_ = self._new(X.shape[1])
        return self._learn(X, np.asarray(y, dtype=np.float64))

    def predict(self, X: Any) -> FloatArray:
        """Fitted values of the rows of X, shape (n_rows,)."""
        check_is_fitted(self, "recursion_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(X @ self.coef_ + self.intercept_)

    def _new(self, n_features: int) -> Recursion:
        self._check()
        settings = RecursionSettings(float(self.forgetting), self.clip, self.prior_variance, self.max_trace)
        return Recursion(n_features + bool(self.fit_intercept), settings)

    def _check(self) -> None:
        if not 0.0 < self.forgetting <= 1.0:
            raise UsageError(f"got forgetting {self.forgetting!r}, expected a number in (0, 1]")
        for name in ("clip", "prior_variance", "max_trace"):
            value = getattr(self, name)
            if value is not None and not value > 0.0:
                raise UsageError(f"got {name} {value!r}, expected a number > 0 or None")

    def _learn(self, X: FloatArray, y: FloatArray) -> Self:
        rows = np.column_stack([np.ones(len(X)), X]) if self.fit_intercept else X
        for row, target in zip(rows, y, strict=True):
            self.recursion_.learn(row, float(target))
        self._publish()
        return self

    def _publish(self) -> None:
        coef = self.recursion_.coef.copy()
        self.intercept_ = float(coef[0]) if self.fit_intercept else 0.0
        self.coef_ = coef[1:] if self.fit_intercept else coef
        self.covariance_ = self.recursion_.covariance.copy()
        self.n_seen_ = self.recursion_.n_rows

    def to_dict(self) -> dict[str, Any]:
        """Settings and state as JSON types; learning goes on where it stopped."""
        check_is_fitted(self, "recursion_")
        state = self.recursion_
        start = None if state.start is None else state.start.rows.tolist()
        return {
            "settings": self.get_params(),
            "coef": state.coef.tolist(),
            "covariance": state.covariance.tolist(),
            "start": start,
            "scale": float(state.scale) if state.n_rows else None,
            "n_rows": state.n_rows,
            "n_capped": state.n_capped,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> RecursiveLeastSquares:
        """The fitted estimator again.

        Raises
        ------
        DataError
            With the JSON path of what is wrong.
        """
        with Fields(document, path) as fields:
            model = cls(**_settings(fields))
            coef = fields.numbers("coef")
            n_columns = len(coef)
            model.n_features_in_ = n_columns - bool(model.fit_intercept)
            state = model._new(model.n_features_in_)
            state.coef = coef
            state.covariance = fields.matrix("covariance", n_columns, n_columns)
            _restore_start(state, fields)
            state.scale = float("nan") if fields.absent("scale") else fields.number("scale", lower=0.0)
            state.n_rows, state.n_capped = fields.integer("n_rows"), fields.integer("n_capped")
            model.recursion_ = state
            model._publish()
        return model


def _settings(fields: Fields) -> dict[str, Any]:
    with fields.child("settings") as settings:
        found: dict[str, Any] = {
            "forgetting": settings.number("forgetting", lower=0.0, upper=1.0),
            "fit_intercept": settings.boolean("fit_intercept"),
        }
        for name in ("clip", "prior_variance", "max_trace"):
            found[name] = None if settings.absent(name) else settings.number(name, lower=0.0)
    return found


def _restore_start(state: Recursion, fields: Fields) -> None:
    if fields.absent("start"):
        state.start = None
    elif state.start is not None:
        state.start.rows = fields.matrix("start", None, len(state.coef) + 1)
