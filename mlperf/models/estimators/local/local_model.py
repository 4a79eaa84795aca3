"""What models of neighbouring measurements share: choice of k inside the training rows, intervals, domain, report, storage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import LONGEST, BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.algebra.small_system import RelativeFit
from mlperf.models.estimators.local.neighbours import Neighbours, SizeScale, nearest
from mlperf.models.estimators.time_regressor import ResidualIntervals
from mlperf.models.formula.inputs import finite_columns, learn_terms, query_frame, training_rows
from mlperf.models.formula.terms import Terms
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.validation.folds import Fold, configuration_groups, group_labels, grouped_folds
from mlperf.models.validation.left_out import over_folds
from mlperf.models.validation.scores import ErrorSummary, mean_log_ratio, relative_errors


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

    @classmethod
    def from_fields(cls, fields: Fields, n_samples: int, k: int) -> LocalReport:
        """Read what `LocalModel.to_dict` wrote of it."""
        pairs = fields.matrix("k_errors", None, 2)
        errors, overall = (
            None if fields.absent(key) else ErrorSummary.from_fields(fields.child(key)) for key in ("errors", "global_errors")
        )
        return cls(
            n_samples=n_samples,
            k=k,
            k_errors={int(number): float(value) for number, value in pairs},
            errors=errors,
            global_errors=overall,
            gain=fields.number("gain", finite=False),
            worth_it=fields.boolean("worth_it"),
        )


MAX_TESTED_ROWS = 3000
LEAST_GROUPS = 3
"""Of two, the one that stays is a single configuration, which tells nothing of the other."""
WORTH_IT = 0.2
"""A local model must err by this share less than the global weighted one to be worth its rows."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """Training rows as a local model sees them.

    ``frame`` (n_rows, n_columns) the features, ``design`` (n_rows, n_terms) their terms, ``points`` (n_rows, n_axes) their sizes in
    octaves, ``y`` (n_rows,) the times, ``tree`` over the points.
    """

    frame: pd.DataFrame
    design: FloatArray
    points: FloatArray
    y: FloatArray
    tree: Any

    def part(self, rows: IntArray) -> TrainingRows:
        """Some of the rows."""
        points = self.points[rows]
        return TrainingRows(self.frame.iloc[rows], self.design[rows], points, self.y[rows], cKDTree(points))


class LocalModel(ResidualIntervals, ABC):
    """Base of `ScatterLocal` and `RatioLocal`."""

    terms: Sequence[str] | None
    sizes: Sequence[str] | None
    k: int | str
    candidates: Sequence[int]
    n_folds: int
    seed: int
    uses_groups = True

    @abstractmethod
    def _learn(self, measured: TrainingRows) -> Any:
        """What the rows teach beyond themselves."""

    @abstractmethod
    def _answer(self, learned: Any, measured: TrainingRows, query: TrainingRows, near: Neighbours) -> FloatArray:
        """Times of the queries from their neighbours, shape (n_queries,)."""

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
        codes = configuration_groups(rows.frame) if groups is None else group_labels(groups, len(rows.y))
        self._choose(codes)
        self.learned_ = self._learn(self.measured_)
        return self

    def _set(self, frame: pd.DataFrame, y: FloatArray) -> None:
        columns = finite_columns(self.terms_, frame)
        self.size_terms_ = learn_terms(self.sizes, frame, intercept=False)
        raw = finite_columns(self.size_terms_, frame).matrix
        self.size_scale_ = SizeScale.fit(raw)
        points = self.size_scale_.axes(raw)
        self.measured_ = TrainingRows(frame, columns.matrix, points, y, cKDTree(points))
        self.domain_ = Domain.fit(frame, columns.matrix, tuple(columns.names))

    def _choose(self, groups: ArrayLike) -> None:
        fixed = None if self.k == "auto" else self.k
        if fixed is not None and (not isinstance(fixed, int) or fixed < 1):
            raise UsageError(f"got k = {fixed!r}, expected 'auto' or a whole number >= 1")
        candidates = list(self.candidates) if fixed is None else [fixed]
        self.residuals_ = None
        n_rows = len(self.measured_.y)
        if n_rows < 2 * self.n_folds:
            # Too few to tell one k from another, but not to see how far rows are missed.
            candidates = candidates[:1]
        if self.n_folds < 2 or len(pd.unique(np.asarray(groups))) < LEAST_GROUPS:
            self.k_ = candidates[0]
            self.report_ = LocalReport(n_rows, self.k_, {}, None, None, float("nan"), False)
            return
        tested, rivals, simple = self._left_out(candidates, groups)
        actual = self.measured_.y[tested]
        log_ratios = {k: mean_log_ratio(rivals[k], actual) for k in candidates}
        self.k_ = min(candidates, key=lambda k: log_ratios[k])
        errors, overall = relative_errors(rivals[self.k_], actual), relative_errors(simple, actual)
        gain = 1.0 - errors.mape / overall.mape if overall.mape > 0 else 0.0
        self.residuals_ = ResidualQuantiles.of(np.log(actual / rivals[self.k_]), self.measured_.design.shape[1])
        self.report_ = LocalReport(n_rows, self.k_, log_ratios, errors, overall, gain, gain >= WORTH_IT)

    def _left_out(self, candidates: Sequence[int], groups: ArrayLike) -> tuple[IntArray, dict[int, FloatArray], FloatArray]:
        """Rows tested, predictions of each k and of the global model; at most 3,000 rows are tested."""
        rng = np.random.default_rng(self.seed)
        allowed = rng.permutation(len(self.measured_.y))[:MAX_TESTED_ROWS]
        every = grouped_folds(groups, self.n_folds, self.seed)
        folds = [Fold(fold.name, fold.train, np.intersect1d(fold.test, allowed)) for fold in every]

        def answers(fold: Fold) -> FloatArray:
            train, query = self.measured_.part(fold.train), self.measured_.part(fold.test)
            learned = self._learn(train)
            near = nearest(train.tree, query.points, max(candidates))
            nearer = [Neighbours(near.index[:, :k], near.distance[:, :k]) for k in candidates]
            simple = RelativeFit.of(train.design, train.y).predict(query.design)
            return np.stack([*(self._answer(learned, train, query, few) for few in nearer), simple])

        tested = np.concatenate([fold.test for fold in folds])
        found = over_folds(folds, (len(candidates) + 1, len(self.measured_.y)), answers)[:, tested]
        return tested, dict(zip(candidates, found, strict=False)), found[-1]

    def _query(self, X: Any) -> TrainingRows:
        check_is_fitted(self, "measured_")
        read = None if self.terms is None else [*self.terms, *(self.sizes or ())]
        frame = query_frame(self, X, terms=read)
        points = self.size_scale_.axes(finite_columns(self.size_terms_, frame).matrix)
        return TrainingRows(frame, finite_columns(self.terms_, frame).matrix, points, np.empty(0), None)

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,), in the unit of y."""
        query = self._query(X)
        return self._answer(self.learned_, self.measured_, query, nearest(self.measured_.tree, query.points, self.k_))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        query = self._query(X)
        return self.domain_.contains(query.frame, query.design)

    def to_dict(self) -> dict[str, Any]:
        """The measured rows, the terms and what was chosen, as JSON types."""
        measured, report = self.measured_, self.report_
        return {
            "parameters": self.parameters_to_dict(),
            "has_names": hasattr(self, "feature_names_in_"),
            "names": [str(name) for name in measured.frame],
            "columns": [measured.frame[name].tolist() for name in measured.frame],
            "y": measured.y.tolist(),
            "terms": self.terms_.to_dict(),
            "k": self.k_,
            "k_errors": [[int(k), value] for k, value in report.k_errors.items()],
            "errors": None if report.errors is None else report.errors.to_dict(),
            "global_errors": None if report.global_errors is None else report.global_errors.to_dict(),
            "gain": report.gain,
            "worth_it": report.worth_it,
            "residuals": None if self.residuals_ is None else self.residuals_.to_dict(),
            "base": self._stored_base(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Self:
        """The fitted model that `to_dict` wrote; predictions are bit-equal.

        Raises
        ------
        DataError
            With the JSON path of what is wrong.
        """
        with Fields(document, path) as fields:
            model = cls.from_parameters(fields.child("parameters"))
            y = fields.times("y")
            frame = stored_frame(fields, len(y))
            model.n_features_in_ = frame.shape[1]
            if fields.boolean("has_names"):
                model.feature_names_in_ = np.array(list(frame), dtype=object)
            model.terms_ = Terms.from_dict(fields.raw("terms"), f"{path}.terms")
            model._set(frame, y)
            model.k_ = fields.integer("k", lower=1)
            model.residuals_ = (
                None if fields.absent("residuals") else ResidualQuantiles.from_dict(fields.raw("residuals"), f"{path}.residuals")
            )
            model.report_ = LocalReport.from_fields(fields, len(y), model.k_)
            stored = fields.raw("base")
        model._restore(stored, f"{path}.base")
        return model

    def _stored_base(self) -> dict[str, Any] | None:
        """The global part as JSON types, where it is an estimator of its own."""
        return None

    def _restore(self, stored: Any, path: str) -> None:  # noqa: ARG002 - a base is restored by the class that has one
        """Learn the global part again, or read the stored one."""
        self.learned_ = self._learn(self.measured_)


def stored_frame(fields: Fields, n_rows: int) -> pd.DataFrame:
    """Read a table of numbers and texts that was stored by columns; DataError with the JSON path of what is wrong."""
    names = fields.texts("names")
    columns = fields.items("columns", len(names))
    table: dict[str, FloatArray | list[str]] = {}
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        if not isinstance(column, list) or len(column) != n_rows:
            raise DataError(f"expected a list of {n_rows} values", place=f"{fields.path}.columns[{place}]")
        if all(isinstance(value, str) for value in column):
            table[name] = column
        else:
            numbers = Fields({"values": column}, f"{fields.path}.columns[{place}]").numbers("values", n_rows)
            if (np.abs(numbers) > LONGEST).any():
                raise DataError(f"expected numbers up to {LONGEST:g}", place=f"{fields.path}.columns[{place}]")
            table[name] = numbers
    return pd.DataFrame(table)
