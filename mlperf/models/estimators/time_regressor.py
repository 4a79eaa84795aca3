"""What estimators of times share: tags, intervals from left-out residuals, parameters as JSON."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property, lru_cache
from inspect import Parameter, signature
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.core.json_fields import Fields
from mlperf.core.threads import one_blas_thread
from mlperf.models.formula.terms import Terms
from mlperf.models.uncertainty.domain import Domain, check_numbers
from mlperf.models.uncertainty.intervals import Interval, check_kind, conformal_interval
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles

BASE = "base"
"""A parameter that is an estimator: stored as a model of its own."""


class TimeRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of regressors for times, which are positive."""

    def __sklearn_tags__(self) -> Any:
        """Times are positive, and a constrained or a local fit may be a poor one."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        tags.regressor_tags.poor_score = True
        return tags

    def _measured_on(self, frame: pd.DataFrame, design: FloatArray | None = None, names: tuple[str, ...] = ()) -> None:
        """Keep the rows of a fit for its domain, see `Domain.fit`; those that have none are refused at once."""
        check_numbers(frame)
        self.__dict__.pop("domain_", None)
        self._domain_rows = frame, design, names

    @cached_property
    def domain_(self) -> Domain:
        """The measured domain, learned on first use: a hull takes as long as many a fit, and models of folds are never asked."""
        check_is_fitted(self, "_domain_rows")
        with one_blas_thread():
            return Domain.fit(*self.__dict__.pop("_domain_rows"))

    def parameters_to_dict(self) -> dict[str, Any]:
        """Parameters as JSON types, without a base estimator."""
        values = {name: value for name, value in self.get_params(deep=False).items() if name != BASE}
        return {name: list(value) if isinstance(value, (tuple, list)) else value for name, value in values.items()}

    @classmethod
    def from_parameters(cls, fields: Fields) -> Self:
        """Unfitted, with the parameters that `parameters_to_dict` wrote; DataError names a missing or unknown one."""
        return cls(**parameters_of(cls, fields))


def parameters_of(estimator: type[BaseEstimator], fields: Fields) -> dict[str, Any]:
    """Parameters of an estimator's constructor that JSON holds, lists as tuples.

    Raises
    ------
    DataError
        Names one that is missing or unknown, or of another kind than the parameter's default.
    """
    with fields:
        return {each.name: _parameter(fields, each) for each in _declared(estimator)}  # type: ignore[arg-type]


# A model file holds a hundred estimators of few classes, and a signature takes a millisecond.
@lru_cache(maxsize=64)
def _declared(estimator: type[BaseEstimator]) -> tuple[Parameter, ...]:
    """Parameters of an estimator's constructor, but for a base estimator, in scikit-learn's order."""
    declared = signature(estimator.__init__).parameters
    return tuple(declared[name] for name in estimator._get_param_names() if name != BASE)


def _parameter(fields: Fields, declared: Parameter) -> Any:
    """One parameter: a truth value, a number or a list where its default or its type is one, else a text, a number or texts."""
    name, default, value = declared.name, declared.default, fields.raw(declared.name)
    several = isinstance(value, list)
    if str(declared.annotation).startswith("Sequence") and not (several or value is None or isinstance(value, str)):
        raise DataError(f"got {value!r:.60}, expected a list", place=f"{fields.path}.{name}")
    if isinstance(default, tuple) and default and isinstance(default[0], (int, float)):
        fields.numbers(name, len(default) if isinstance(default[0], float) else None)
        return tuple(value)
    if isinstance(default, bool):
        return fields.boolean(name)
    if isinstance(default, (int, float)) and value is not None:
        fields.number(name)
    elif any(isinstance(part, (dict, list)) for part in (value if several else [value])):
        raise DataError("got an object, expected a text, a number or a list of texts", place=f"{fields.path}.{name}")
    return tuple(value) if several else value


def read_fitted_columns(model: Any, fields: Fields, key: str) -> None:
    """Set what scikit-learn keeps of the columns of a fit, ``n_features_in_`` and, where they had names, ``feature_names_in_``.

    Raises
    ------
    DataError
        As many names as columns were expected, each once.
    """
    model.n_features_in_ = fields.integer("n_features", lower=1)
    if fields.absent(key):
        return
    names = fields.texts(key, model.n_features_in_)
    if len(set(names)) < len(names):
        raise DataError(f"got {', '.join(names)}, expected every name once", place=f"{fields.path}.{key}")
    model.feature_names_in_ = np.array(names, dtype=object)


def check_coefficients(terms: Terms, coef: FloatArray, path: str) -> None:
    """Accept as many coefficients as the terms have columns; DataError: another number of them."""
    expected = len(terms.column_names)
    if len(coef) != expected:
        raise DataError(f"got {len(coef)} coefficients, expected {expected}", place=f"{path}.spread.coef")


class ResidualIntervals(TimeRegressor):
    """Base of estimators whose intervals come from log(measured / predicted) of left-out groups, ``residuals_``.

    The error of the form outweighs the noise of a run, so the interval of the mean and that of a run are the same.
    """

    residuals_: ResidualQuantiles | None

    @abstractmethod
    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,), in the unit of y."""

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of every row from the errors of left-out groups; the same for the mean and a run.

        Raises
        ------
        FitError
            Fitted without folds.
        """
        check_kind(kind, level)
        logs = conformal_interval(np.log(self.predict(X)), self._residuals(), "log", level)
        return Interval(np.exp(logs.lower), np.exp(logs.upper), level)

    def sample(self, X: Any, rng: np.random.Generator, size: int, kind: str = "run") -> FloatArray:
        """Draws of the times, shape (size, n_rows): predictions times the error of a left-out row."""
        check_kind(kind, 0.5)
        predicted = self.predict(X)
        return np.asarray(predicted * np.exp(self._residuals().at(rng.uniform(size=(size, len(predicted))))))

    def _residuals(self) -> ResidualQuantiles:
        if self.residuals_ is None:
            raise FitError(
                "no left-out errors are known", hint="Fit with n_folds >= 2 and at least twice as many rows to get intervals."
            )
        return self.residuals_
