"""A physical base model times exp of a learnt residual: boosted trees say where the base is off, within what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.json_fields import Fields
from mlperf.core.threads import one_thread
from mlperf.models.estimators.learning.trees import Trees
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.estimators.time_regressor import ResidualIntervals, read_fitted_columns
from mlperf.models.formula.expressions import names, parse
from mlperf.models.formula.inputs import finite_columns, learn_terms, query_frame, training_rows
from mlperf.models.formula.terms import Terms
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.validation.folds import configuration_groups, group_labels, grouped_folds
from mlperf.models.validation.left_out import left_out

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

LOWEST, HIGHEST = 0.25, 4.0
"""A prediction outside a quarter of the smallest and four times the largest training time is outside the domain."""

FEWEST_BINS, MOST_BINS = 2, 255
"""Of scikit-learn; a column of no more values has a bin for each, however many bins there may be, and time goes by the most."""


@dataclass(eq=False, repr=False)
class BoostedResidual(ResidualIntervals):
    """Base model times exp(boosted trees of log(measured / base)).

    The trees see the plain columns, the base its own terms. Outside the measured columns trees stay at their border value, the
    correction stays within those seen in training, and the base alone carries the prediction on: give it a physical one.

    Parameters
    ----------
    base : estimator, optional
        Any regressor of the room; default `NonNegativeOLS` of every column.
    columns : sequence of str, optional
        What the trees see: columns, or arithmetic expressions over them; default every column. Factors become indicator columns.
    max_iter, learning_rate, max_leaf_nodes, min_samples_leaf, l2_regularization : numbers
        Of the trees. Fix them before looking at errors: they are not chosen here.
    monotone : sequence of str
        Columns in which the correction may not fall.
    n_folds : int
        Grouped folds whose left-out errors make the intervals; below 2 there are none (each fold is one more fit).
    random_state : int
        Of folds and trees.

    Attributes
    ----------
    base_ : estimator
        Fitted base.
    trees_ : Trees
        The residual as plain arrays, equal to scikit-learn's answer to 1e-12.
    """

    uses_groups = True

    base: Any = None
    columns: Sequence[str] | None = None
    max_iter: int = 150
    learning_rate: float = 0.06
    max_leaf_nodes: int = 12
    min_samples_leaf: int = 8
    l2_regularization: float = 0.0
    monotone: Sequence[str] = ()
    n_folds: int = 0
    random_state: int = 0

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the base, then the trees on what it leaves.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
            Positive times.
        groups : array-like, shape (n_samples,), optional
            Rows that are left out together for the intervals; default identical rows of features.

        Raises
        ------
        FitError
            A time that is not positive.
        """
        rows = training_rows(self, X, y, terms=self._read())
        self.terms_ = learn_terms(self.columns, rows.frame, intercept=False)
        features = finite_columns(self.terms_, rows.frame)
        self.time_range_ = (float(rows.y.min()), float(rows.y.max()))
        self.base_ = point_estimator(self.base).fit(rows.frame, rows.y)
        residual = np.log(rows.y / self._base_time(rows.frame))
        self.correction_range_ = (float(residual.min()), float(residual.max()))
        self.trees_ = Trees.of(self._boosting(features.names, features.matrix, residual))
        self.n_iter_ = self.max_iter
        self._measured_on(rows.frame[self._read_by_trees(rows.frame)])
        self.residuals_ = self._left_out(rows.frame, rows.y, groups) if self.n_folds >= 2 else None
        return self

    def _read(self) -> list[str] | None:
        """Columns that matter, where both parts say which."""
        terms = getattr(self.base, "terms", None)
        if self.columns is None or terms is None:
            return None
        return [*self.columns, *terms]

    def _read_by_trees(self, frame: pd.DataFrame) -> list[str]:
        read = set(map(str, frame)) if self.columns is None else {name for term in self.columns for name in names(parse(term))}
        return [str(name) for name in frame if str(name) in read]

    def _boosting(self, labels: Sequence[str], features: FloatArray, residual: FloatArray) -> HistGradientBoostingRegressor:
        # Predicting needs no more than the fitted trees.
        from sklearn.ensemble import HistGradientBoostingRegressor

        boosting = HistGradientBoostingRegressor(
            max_iter=self.max_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2_regularization,
            monotonic_cst=[int(label in self.monotone) for label in labels] if self.monotone else None,
            early_stopping=False,
            random_state=self.random_state,
            max_bins=int(np.clip(max(len(np.unique(column)) for column in features.T), FEWEST_BINS, MOST_BINS)),
        )
        # Small tables: threads cost more than they bring, and the bytes must not depend on how many there are.
        with one_thread():
            return boosting.fit(features, residual)

    def _base_time(self, frame: pd.DataFrame) -> FloatArray:
        return np.asarray(np.maximum(self.base_.predict(frame), LOWEST * self.time_range_[0]))

    def _left_out(self, frame: pd.DataFrame, y: FloatArray, groups: ArrayLike | None) -> ResidualQuantiles | None:
        keys = configuration_groups(frame) if groups is None else group_labels(groups, len(y))
        if len(pd.unique(keys)) < 2:
            return None
        folds = grouped_folds(keys, self.n_folds, self.random_state)
        rows = left_out(lambda: clone(self).set_params(n_folds=0), frame, y, keys, folds, domain=False, equal_rows=True)
        return ResidualQuantiles.of(np.log(y / rows.predicted), 1 + np.size(getattr(self.base_, "coef_", ())))

    def _query(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self, "trees_")
        return query_frame(self, X, terms=self._read())

    def correction(self, X: Any) -> FloatArray:
        """log(prediction / base) of the trees, within the range seen in training, shape (n_rows,)."""
        return self._correction(self._query(X))

    def _correction(self, frame: pd.DataFrame) -> FloatArray:
        return np.asarray(np.clip(self.trees_.predict(finite_columns(self.terms_, frame).matrix), *self.correction_range_))

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,), in the unit of y; beyond the training rows they grow as the base grows."""
        frame = self._query(X)
        return self._base_time(frame) * np.exp(self._correction(frame))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether columns lie inside the measured domain and the prediction in [min / 4, 4 max] of its times, shape (n_rows,)."""
        return self.predict_flagged(X)[1]

    def predict_flagged(self, X: Any) -> tuple[FloatArray, BoolArray]:
        """What `predict` and `in_domain` say of each row, shape (n_rows,) each; base and trees are asked once."""
        frame = self._query(X)
        times = self._base_time(frame) * np.exp(self._correction(frame))
        low, high = self.time_range_
        inside = self.domain_.contains(frame[self._read_by_trees(frame)])
        if hasattr(self.base_, "in_domain"):
            inside = inside & self.base_.in_domain(frame)
        return times, np.asarray(inside & (times >= LOWEST * low) & (times <= HIGHEST * high))

    def to_dict(self) -> dict[str, Any]:
        """The base, the trees and the ranges as JSON types; no training rows."""
        from mlperf.models.storage.store import model_to_dict

        check_is_fitted(self, "trees_")
        labels = getattr(self, "feature_names_in_", None)
        return {
            "parameters": self.parameters_to_dict(),
            "feature_names": None if labels is None else [str(label) for label in labels],
            "n_features": self.n_features_in_,
            "base": model_to_dict(self.base_),
            "terms": self.terms_.to_dict(),
            "trees": self.trees_.to_dict(),
            "time_range": list(self.time_range_),
            "correction_range": list(self.correction_range_),
            "domain": self.domain_.to_dict(),
            "residuals": None if self.residuals_ is None else self.residuals_.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Self:
        """The fitted model that `to_dict` wrote; predictions are bit-equal.

        Raises
        ------
        DataError
            With the JSON path of what is wrong.
        """
        from mlperf.models.storage.store import model_from_dict

        with Fields(document, path) as fields:
            model = cls.from_parameters(fields.child("parameters"))
            model.base = base = model_from_dict(fields.raw("base"), f"{path}.base")
            read_fitted_columns(model, fields, "feature_names")
            model.base_ = base
            model.terms_ = Terms.from_dict(fields.raw("terms"), f"{path}.terms")
            model.trees_ = Trees.from_dict(fields.raw("trees"), len(model.terms_.column_names), f"{path}.trees")
            model.time_range_ = _pair(fields, "time_range")
            model.correction_range_ = _pair(fields, "correction_range")
            model.domain_ = Domain.from_dict(fields.raw("domain"), f"{path}.domain")
            model.residuals_ = (
                None if fields.absent("residuals") else ResidualQuantiles.from_dict(fields.raw("residuals"), f"{path}.residuals")
            )
        return model


def point_estimator(base: Any) -> Any:
    """Unfitted copy of a base without the draws and folds behind its own intervals, which nobody will ask for."""
    copy = NonNegativeOLS() if base is None else clone(base)
    unused = {name: 0 for name in ("n_draws", "n_folds") if name in copy.get_params(deep=False)}
    return copy.set_params(**unused)


def _pair(fields: Fields, key: str) -> tuple[float, float]:
    low, high = fields.numbers(key, 2)
    return float(low), float(high)
