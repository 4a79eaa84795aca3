"""What models of neighbouring measurements share: choice of k inside the training rows, intervals, domain, storage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import FitError, UsageError
from mlperf.core.shown import Shown
from mlperf.models.estimators.local.neighbours import Neighbours, SizeScale, nearest
from mlperf.models.estimators.members.relative_fit import RelativeFit
from mlperf.models.formula.inputs import finite_columns, learn_terms, query_frame, training_rows
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.intervals import Interval, check_kind, conformal_interval
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.validation.folds import configuration_groups, grouped_folds
from mlperf.models.validation.scores import ErrorSummary, relative_errors

MAX_TESTED_ROWS = 3000
WORTH_IT = 0.2
"""A local model must err by this share less than the global weighted one to be worth its rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Training rows as a local model sees them.

    ``frame`` (n_rows, n_columns) the features, ``design`` (n_rows, n_terms) their terms, ``points`` (n_rows, n_axes) their sizes in
    octaves, ``y`` (n_rows,) the times, ``tree`` over the points.
    """

    frame: pd.DataFrame
    design: FloatArray
    points: FloatArray
    y: FloatArray
    tree: Any

    def part(self, rows: IntArray) -> Measured:
        """Some of the rows."""
        points = self.points[rows]
        return Measured(self.frame.iloc[rows], self.design[rows], points, self.y[rows], cKDTree(points))


@dataclass(frozen=True, slots=True, eq=False)
class LocalReport(Shown):
    """How a local model did on training rows that it had not seen.

    ``k`` neighbours chosen among ``k_errors`` (k to mean |log ratio|); ``errors`` of the local and ``global_errors`` of the
    weighted global model on the same left-out rows; ``gain`` is 1 - MAPE / global MAPE and ``worth_it`` whether that reaches 20 %.
    """

    n_samples: int
    k: int
    k_errors: Mapping[int, float]
    errors: ErrorSummary | None
    global_errors: ErrorSummary | None
    gain: float
    worth_it: bool


class LocalModel(RegressorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of `ScatterLocal` and `RatioLocal`."""

    terms: Sequence[str] | None
    sizes: Sequence[str] | None
    k: int | str
    candidates: Sequence[int]
    n_folds: int
    seed: int
    uses_groups = True

    @abstractmethod
    def _learn(self, measured: Measured) -> Any:
        """What the rows teach beyond themselves."""

    @abstractmethod
    def _answer(self, learned: Any, measured: Measured, query: Measured, near: Neighbours) -> FloatArray:
        """Times of the queries from their neighbours, shape (n_queries,)."""

    def __sklearn_tags__(self) -> Any:
        """Times are positive."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Keep the measurements, choose k, and learn how far left-out rows are missed.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
            Positive times.
        groups : array-like, shape (n_samples,), optional
            Rows that stay on one side when k is chosen; default identical rows of features.

        Raises
        ------
        FitError
            A time that is not positive.
        """
        read = None if self.terms is None else [*self.terms, *(self.sizes or ())]
        rows = training_rows(self, X, y, terms=read)
        self.terms_ = learn_terms(self.terms, rows.frame)
        self._set(rows.frame, rows.y)
        codes = configuration_groups(rows.frame) if groups is None else np.asarray(groups)
        self._choose(codes)
        self.learned_ = self._learn(self.measured_)
        return self

    def _set(self, frame: pd.DataFrame, y: FloatArray) -> None:
        columns = finite_columns(self.terms_, frame)
        self.size_terms_ = learn_terms(self.sizes, frame, intercept=False)
        raw = finite_columns(self.size_terms_, frame).matrix
        self.size_scale_ = SizeScale.fit(raw)
        points = self.size_scale_.axes(raw)
        self.measured_ = Measured(frame, columns.matrix, points, y, cKDTree(points))
        self.domain_ = Domain.fit(frame, columns.matrix, tuple(columns.names))

    def _choose(self, groups: ArrayLike) -> None:
        fixed = None if self.k == "auto" else self.k
        if fixed is not None and (not isinstance(fixed, int) or fixed < 1):
            raise UsageError(f"got k = {fixed!r}, expected 'auto' or a whole number >= 1")
        candidates = list(self.candidates) if fixed is None else [fixed]
        self.residuals_ = None
        n_rows = len(self.measured_.y)
        if self.n_folds < 2 or n_rows < 2 * self.n_folds or len(pd.unique(np.asarray(groups))) < 2:
            self.k_ = candidates[0]
            self.report_ = LocalReport(n_rows, self.k_, {}, None, None, float("nan"), False)
            return
        tested, rivals, simple = self._left_out(candidates, groups)
        actual = self.measured_.y[tested]
        errors = {k: relative_errors(rivals[k], actual) for k in candidates}
        self.k_ = min(candidates, key=lambda k: errors[k].log_ratio)
        overall = relative_errors(simple, actual)
        gain = 1.0 - errors[self.k_].mape / overall.mape if overall.mape > 0 else 0.0
        self.residuals_ = ResidualQuantiles.of(np.log(actual / rivals[self.k_]))
        log_ratios = {k: errors[k].log_ratio for k in candidates}
        self.report_ = LocalReport(n_rows, self.k_, log_ratios, errors[self.k_], overall, gain, gain >= WORTH_IT)

    def _left_out(self, candidates: Sequence[int], groups: ArrayLike) -> tuple[IntArray, dict[int, FloatArray], FloatArray]:
        """Rows tested, predictions of each k and of the global model; at most 3,000 rows are tested."""
        rng = np.random.default_rng(self.seed)
        allowed = rng.permutation(len(self.measured_.y))[:MAX_TESTED_ROWS]
        rivals: dict[int, list[FloatArray]] = {k: [] for k in candidates}
        tested, simple = [], []
        for fold in grouped_folds(groups, self.n_folds, self.seed):
            rows = np.intersect1d(fold.test, allowed)
            train, query = self.measured_.part(fold.train), self.measured_.part(rows)
            learned = self._learn(train)
            near = nearest(train.tree, query.points, max(candidates))
            for k in candidates:
                rivals[k].append(self._answer(learned, train, query, Neighbours(near.index[:, :k], near.distance[:, :k])))
            simple.append(RelativeFit.of(train.design, train.y).predict(query.design))
            tested.append(rows)
        return np.concatenate(tested), {k: np.concatenate(parts) for k, parts in rivals.items()}, np.concatenate(simple)

    def _query(self, X: Any) -> Measured:
        check_is_fitted(self, "measured_")
        read = None if self.terms is None else [*self.terms, *(self.sizes or ())]
        frame = query_frame(self, X, terms=read)
        points = self.size_scale_.axes(finite_columns(self.size_terms_, frame).matrix)
        return Measured(frame, finite_columns(self.terms_, frame).matrix, points, np.empty(0), None)

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,), in the unit of y."""
        query = self._query(X)
        return self._answer(self.learned_, self.measured_, query, nearest(self.measured_.tree, query.points, self.k_))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        query = self._query(X)
        return self.domain_.contains(query.frame, query.design)

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of every row from the errors on left-out training rows.

        The error of the form outweighs the noise of a run, so ``kind="mean"`` and ``kind="run"`` are the same here.

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

    def to_dict(self) -> dict[str, Any]:
        """The measured rows, the terms and what was chosen, as JSON types."""
        from mlperf.models.estimators.local.local_store import local_to_dict

        return local_to_dict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Self:
        """The fitted model that `to_dict` wrote; predictions are bit-equal.

        Raises
        ------
        DataError
            With the JSON path of what is wrong.
        """
        from mlperf.models.estimators.local.local_store import local_from_dict

        return local_from_dict(cls, document, path)
