"""What the linear members of the family for timings share: terms, domain, intervals, report, storage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.algebra.fixed_order import evaluate_fixed_order
from mlperf.models.estimators.time_regressor import TimeRegressor, check_coefficients, read_fitted_columns
from mlperf.models.formula.inputs import Rows, finite_columns, learn_terms, query_frame, training_rows
from mlperf.models.formula.terms import Terms
from mlperf.models.inference.clustered import group_numbers
from mlperf.models.uncertainty.difficulty import Difficulty, left_out_scores
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.residual_quantiles import USUAL_LEVEL, ResidualQuantiles, has_ranks
from mlperf.models.uncertainty.spread import Spread
from mlperf.models.validation.folds import Fold, configuration_groups, grouped_folds
from mlperf.models.validation.left_out import fold_numbers, over_folds
from mlperf.models.validation.scores import ErrorSummary, r2, relative_errors


@dataclass(frozen=True, slots=True, eq=False)
class MemberReport(Shown):
    """What a fit of the family found.

    ``coef`` by column name, unit of y per unit of the column (of log y for a log fit), before smearing; ``std_err`` likewise,
    NaN where the fit has no formula for it; ``smearing`` the factor on predictions; ``r2`` on the raw scale, about the mean;
    ``errors`` on the training rows; ``figures`` what is special to the member; ``notes`` in words.
    """

    member: str
    coef: Mapping[str, float]
    std_err: Mapping[str, float]
    n_samples: int
    sigma: float
    df_resid: float
    smearing: float
    r2: float
    errors: ErrorSummary
    figures: Mapping[str, float]
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The coefficient table: term, coef, std_err."""
        return pd.DataFrame({"term": list(self.coef), "coef": list(self.coef.values()), "std_err": list(self.std_err.values())})


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What a member's solver returns: ``spread`` (coefficients and how sure they are), its ``figures`` and ``notes``."""

    spread: Spread
    figures: Mapping[str, float]
    notes: tuple[str, ...] = ()


class LinearMember(TimeRegressor, ABC):
    """Base of regressors that are linear in named terms; a member says how its coefficients are found.

    See `NonNegativeOLS`, `LogOLS`, `HuberOLS`, `QuantileOLS`.
    """

    member: ClassVar[str]
    least_squares: ClassVar[bool] = False
    """Whether Student's t holds for the fit, however few the rows, as long as there are more than coefficients."""
    folds_of_few: ClassVar[int] = 0
    """Folds that are made below 39 rows even without ``n_folds``: for fits whose sigma then says nothing."""
    terms: Sequence[str] | None
    fit_intercept: bool
    n_folds: int
    seed: int
    uses_groups = True

    @abstractmethod
    def _coefficients(self, design: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Coefficients of the design's columns, shape (n_columns,)."""

    @abstractmethod
    def _solve(self, design: FloatArray, rows: Rows, groups: IntArray | None) -> Solution:
        """Coefficients, how sure they are, and what is special to the member."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the terms to positive times.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
            Positive; its unit is that of the predictions.
        sample_weight : array-like, shape (n_samples,), optional
            Precision weights >= 0, on top of the noise model's own.
        groups : array-like, shape (n_samples,), optional
            Rows that are resampled and left out together for the errors behind intervals; default identical rows of features.

        Raises
        ------
        FitError
            A time that is not positive.
        DataError
            A term that is not finite on some row, or a missing column.
        """
        rows = training_rows(self, X, y, sample_weight, terms=self.terms)
        self.terms_ = self._learnt_terms(rows.frame)
        columns = finite_columns(self.terms_, rows.frame)
        codes = None if groups is None else group_numbers(groups, np.shape(y)[0])[rows.kept]
        solution = self._solve(columns.matrix, rows, codes)
        residuals, difficulty = self._left_out(columns.matrix, rows, codes, solution.spread)
        self.spread_ = replace(solution.spread, residuals=residuals, difficulty=difficulty)
        self._measured_on(rows.frame, columns.matrix, tuple(columns.names))
        self._publish(columns.names)
        self.report_ = self._report(columns.names, columns.matrix, rows, solution)
        return self

    def _learnt_terms(self, frame: pd.DataFrame) -> Terms:
        return learn_terms(self.terms, frame, intercept=self.fit_intercept)

    def _left_out(
        self, design: FloatArray, rows: Rows, groups: IntArray | None, spread: Spread
    ) -> tuple[ResidualQuantiles | None, Difficulty | None]:
        """Residuals of groups that the coefficients had not seen, on the scale of the noise; None for Student's t."""
        keys = configuration_groups(rows.frame) if groups is None else groups
        few = not has_ranks(len(keys), USUAL_LEVEL)
        n_folds = max(self.n_folds, self.folds_of_few) if few else self.n_folds
        exact = self.least_squares and few and groups is None and len(keys) > design.shape[1]
        if exact or n_folds < 2 or len(pd.unique(keys)) < 2:
            return None, None
        folds = grouped_folds(keys, n_folds, self.seed)

        def answer(fold: Fold) -> FloatArray:
            return design[fold.test] @ self._coefficients(design[fold.train], rows.y[fold.train], rows.weight[fold.train])

        linear = over_folds(folds, len(rows.y), answer)
        left = noise_residual(rows.y, linear, spread)
        return left_out_scores(design, left, fold_numbers(folds, len(rows.y)), design.shape[1])

    def _publish(self, names: Sequence[str]) -> None:
        values = dict(zip(names, self.spread_.coef.tolist(), strict=True))
        self.intercept_ = values.pop("(Intercept)", 0.0)
        self.coef_ = np.array(list(values.values()))
        self.smearing_ = self.spread_.smearing

    def _report(self, names: Sequence[str], design: FloatArray, rows: Rows, solution: Solution) -> MemberReport:
        fitted = self._evaluate(design)
        share = r2(fitted, rows.y)
        return _member_report(
            self.member,
            names,
            self.spread_,
            len(rows.y),
            0.0 if np.isnan(share) else share,
            relative_errors(fitted, rows.y),
            solution.figures,
            solution.notes,
        )

    def _evaluate(self, design: FloatArray) -> FloatArray:
        linear = evaluate_fixed_order(design, self.spread_.coef)
        return self.spread_.smearing * (np.exp(linear) if self.spread_.noise == "log" else linear)

    def _design(self, X: Any) -> tuple[pd.DataFrame, FloatArray]:
        check_is_fitted(self, "spread_")
        frame = query_frame(self, X, terms=self.terms)
        return frame, finite_columns(self.terms_, frame).matrix

    def predict(self, X: Any) -> FloatArray:
        """Mean times of the rows of X, shape (n_rows,), in the unit of y."""
        return self._evaluate(self._design(X)[1])

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        return self.domain_.contains(*self._design(X))

    def predict_interval(self, X: Any, kind: str = "mean", level: float = 0.95) -> Interval:
        """Interval of the mean (``kind="mean"``) or of one run (``kind="run"``) of every row; see `Spread.interval`."""
        return self.spread_.interval(self._design(X)[1], kind=kind, level=level)

    def sample(self, X: Any, rng: np.random.Generator, size: int, kind: str = "mean") -> FloatArray:
        """Joint draws of all rows, shape (size, n_rows); see `Spread.sample`."""
        return self.spread_.sample(self._design(X)[1], rng, size, kind)

    def to_dict(self) -> dict[str, Any]:
        """Terms, coefficients, errors, domain and report as JSON types; no training rows."""
        check_is_fitted(self, "spread_")
        names = getattr(self, "feature_names_in_", None)
        return {
            "parameters": self.parameters_to_dict(),
            "columns": None if names is None else [str(name) for name in names],
            "n_features": self.n_features_in_,
            "terms": self.terms_.to_dict(),
            "spread": self.spread_.to_dict(),
            "domain": self.domain_.to_dict(),
            "report": {
                "names": list(self.report_.coef),
                "n_samples": self.report_.n_samples,
                "r2": self.report_.r2,
                "errors": self.report_.errors.to_dict(),
                "figures": dict(self.report_.figures),
                "notes": list(self.report_.notes),
            },
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Self:
        """The fitted estimator that `to_dict` wrote; predictions and intervals are bit-equal.

        Raises
        ------
        DataError
            With the JSON path of what is wrong.
        """
        with Fields(document, path) as fields:
            model = cls.from_parameters(fields.child("parameters"))
            read_fitted_columns(model, fields, "columns")
            model.terms_ = Terms.from_dict(fields.raw("terms"), f"{path}.terms")
            model.spread_ = Spread.from_dict(fields.raw("spread"), f"{path}.spread")
            check_coefficients(model.terms_, model.spread_.coef, path)
            model.domain_ = Domain.from_dict(fields.raw("domain"), f"{path}.domain")
            model.report_ = _read_report(fields.child("report"), cls.member, model.spread_)
            model._publish(list(model.report_.coef))
        return model


def noise_residual(y: FloatArray, linear: FloatArray, spread: Spread) -> FloatArray:
    """Residuals on the scale that a fit's noise is constant on, shape (n_rows,).

    y - prediction (absolute), y / prediction - 1 (relative, infinite where the prediction is not positive), or log y minus the
    linear predictor (log, without smearing).
    """
    if spread.noise == "log":
        return np.asarray(np.log(y) - linear)
    if spread.noise == "absolute":
        return np.asarray(y / spread.smearing - linear)
    ratio = np.divide(y / spread.smearing, linear, out=np.full_like(y, np.inf), where=linear > 0)
    return np.asarray(ratio - 1.0)


def _member_report(
    member: str,
    names: Sequence[str],
    spread: Spread,
    n_samples: int,
    r2: float,
    errors: ErrorSummary,
    figures: Mapping[str, float],
    notes: Sequence[str],
) -> MemberReport:
    has_errors = spread.factor is not None or spread.draws is not None
    std_err = _coef_std_err(spread) if has_errors else np.full(len(names), np.nan)
    return MemberReport(
        member=member,
        coef=dict(zip(names, spread.coef.tolist(), strict=True)),
        std_err=dict(zip(names, std_err.tolist(), strict=True)),
        n_samples=n_samples,
        sigma=spread.sigma,
        df_resid=spread.df,
        smearing=spread.smearing,
        r2=r2,
        errors=errors,
        figures=dict(figures),
        notes=tuple(notes),
    )


def _read_report(fields: Fields, member: str, spread: Spread) -> MemberReport:
    with fields:
        figures = fields.child("figures")
        return _member_report(
            member,
            fields.texts("names", len(spread.coef)),
            spread,
            fields.integer("n_samples"),
            fields.number("r2", finite=False),
            ErrorSummary.from_fields(fields.child("errors")),
            {name: figures.number(name, finite=False) for name in figures.names},
            fields.texts("notes"),
        )


def _coef_std_err(spread: Spread) -> FloatArray:
    if spread.factor is not None:
        return np.asarray(spread.sigma * np.sqrt((spread.factor**2).sum(axis=1)))
    return np.asarray(np.std(np.asarray(spread.draws), axis=0, ddof=1))
