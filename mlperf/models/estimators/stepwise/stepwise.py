"""``StepwiseOLS``: least squares with terms chosen as R's ``step`` chooses them, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import UsageError, check_type
from mlperf.models.algebra.fixed_order import evaluate_fixed_order
from mlperf.models.estimators.stepwise.fitted import FittedTerms, SearchOutcome
from mlperf.models.estimators.stepwise.problem import Scope, Settings, scope_terms
from mlperf.models.estimators.stepwise.stepwise_data import column_label, query, read_training, relative_weights
from mlperf.models.estimators.stepwise.stepwise_fit import fit_stepwise
from mlperf.models.estimators.stepwise.stepwise_store import stepwise_from_dict, stepwise_to_dict
from mlperf.models.formula.evaluate import Frame, evaluate
from mlperf.models.formula.expressions import Expression, names, parse
from mlperf.models.formula.formula import Formula, Term, ordered_terms, parse_formula, parse_term
from mlperf.models.formula.terms import Terms
from mlperf.models.inference.report import FitReport
from mlperf.models.inference.report_extras import wanted_extras
from mlperf.models.selection.criteria import is_cost
from mlperf.models.uncertainty.domain import Domain, DomainCheck
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.spread import Spread

NOISES = ("absolute", "relative")


@dataclass(eq=False, repr=False)
class StepwiseOLS(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on terms that a stepwise search selects, with R's answers.

    Parameters
    ----------
    terms : sequence of str or str, optional
        Candidates: arithmetic expressions over columns (``"m*n*k"``, ``"log2(n)"``), bare categorical columns as factors, ``a:b``
        as interactions; or the right side of a formula (``"~ a * b"``). Default: ``upper``, else every column.
    lower, upper, start : formula or sequence of str, optional
        Terms that stay, that may enter, that the search starts from. Default: nothing, ``terms``, and ``terms`` (backward,
        both) or ``lower`` (forward).
    direction : {"backward", "forward", "both"} or None
        None is R's rule: backward without a scope, both with one.
    criterion : {"aic", "bic", "aicc", "cp", "p_value", "adj_r2"}
    k : float, optional
        Penalty per parameter of ``aic``, ``bic`` and ``cp``; default 2, log n, 2.
    scale : float
        Known residual variance: > 0 makes the criterion Cp. ``criterion="cp"`` takes the full model's by default.
    alpha_enter, alpha_remove : float
        Levels of ``p_value``.
    noise : {"absolute", "relative"}
        ``relative`` weighs rows by 1 / y^2.
    fit_intercept : bool
    max_steps : int
    tol : float
        A column whose remainder after projection on those before it is below this share of its norm is aliased.
    na : {"raise", "drop"}
        ``drop`` leaves out rows with missing values by R's rules.
    saturated : {"forward", "raise"}
        What to do when the start has as many parameters as rows: search forward from ``lower`` (flagged), or R's error.
    offset : str, optional
        Column (or expression) whose values are added to every prediction.
    report : {"auto", "none"} or sequence of str
        Which of ``selective``, ``stability``, ``nested_cv`` the report offers (computed when first read).
    ordered : bool
        Whether rows are ordered in time, for the Durbin-Watson statistic.
    n_draws : int
        Bootstrap coefficients of the final model kept for ``sample``; 0 draws from their normal theory instead. Models fitted on
        the same rows share the resamples, so that draw b of one belongs to draw b of the other.

    Attributes
    ----------
    coef_ : array, shape (n_coefficients,)
        Of the kept columns without the constant, named by ``coef_names_``.
    intercept_ : float
    terms_ : tuple of str
        Terms of the final model.
    rank_ : int
    aliased_ : dict
        Aliased columns of the widest model, each with its relation to the others.
    trace_, path_ : DataFrame
        Every table of candidates; the path in the columns of R's ``anova``.
    trace_text_ : str
        What R prints.
    report_ : FitReport
    domain_ : Domain
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``GridSearchCV`` over ``criterion`` compares cross-validated scores, not criteria. p-values after a selection are naive: see
    ``report_.selective``.

    References
    ----------
    Chambers and Hastie (1992), Statistical Models in S; Venables and Ripley (2002), section 6.8.
    """

    uses_groups = True

    terms: Scope = None
    lower: Scope = None
    upper: Scope = None
    start: Scope = None
    direction: str | None = "backward"
    criterion: str = "aic"
    k: float | None = None
    scale: float = 0.0
    alpha_enter: float = 0.05
    alpha_remove: float = 0.05
    noise: str = "absolute"
    fit_intercept: bool = True
    max_steps: int = 1000
    tol: float = 1e-7
    na: str = "raise"
    saturated: str = "forward"
    offset: str | None = None
    report: str | Sequence[str] = "auto"
    ordered: bool = False
    n_draws: int = 0

    def __sklearn_tags__(self) -> Any:
        """Relative noise needs positive y; dropping rows allows missing values."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.noise == "relative"
        tags.input_tags.allow_nan = self.na == "drop"
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Select terms and fit them.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_features)
            Columns of an array are called x0, x1, ...
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Precision weights >= 0, as in R's ``lm``; rows of weight zero count in n.
        groups : array-like, shape (n_samples,), optional
            Rows that belong together: left out at once in the report's cross-validation and for intervals of runs, their errors
            taken for correlated in ``report_.clustered``; selection and coefficients do not depend on them.

        Raises
        ------
        DataError
            Missing values under ``na="raise"``, absent columns, infinite terms.
        FitError
            What R refuses: changing rows, a saturated start under ``saturated="raise"``.
        UsageError
            Parameters outside their values.
        """
        self._check()
        wanted = None
        if self.terms is not None and isinstance(X, pd.DataFrame):
            columns = [str(name) for name in X.columns]
            wanted = self._wanted(columns, self._formula(columns))
        data = read_training(self, X, y, sample_weight, wanted, self.na)
        formula = self._formula([str(name) for name in data.frame])
        label = parse(column_label(data.y_name))
        return self._fit(data.frame, data.matrix, data.y, data.weights, formula, label, as_written=False, groups=groups)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        frame: pd.DataFrame,
        *,
        weights: str | ArrayLike | None = None,
        offset: str | None = None,
        lower: Scope = None,
        upper: Scope = None,
        direction: str | None = None,
        na: str = "drop",
        saturated: str = "raise",
        **parameters: Any,
    ) -> Self:
        """Fit a formula in R's language, with R's defaults; returns the fitted estimator.

        Forward without ``upper`` searches from ``lower`` up to the formula.

        Parameters
        ----------
        formula : str
            ``"log(t) ~ a * b + poly(c, 2) + offset(d)"``. Predictions are on the scale of the left side.
        frame : DataFrame
        weights : str or array-like, optional
            A column, or values.
        offset : str, optional
            A column or expression, besides ``offset()`` in the formula.
        lower, upper : formula or sequence of str, optional
            R's ``scope``; ``.`` stands for the formula's right side.
        direction, na, saturated
            As in the class, with R's behaviour as default.
        **parameters
            Others of the class.

        Raises
        ------
        UsageError
            No left side, or a parameter that the class does not have.
        """
        model = cls(lower=lower, upper=upper, direction=direction, na=na, saturated=saturated, offset=offset, **parameters)
        model._check()
        parsed = parse_formula(formula, [str(name) for name in frame.columns])
        if parsed.response is None:
            raise UsageError(f"got {formula!r}, expected a formula with a left side: 'y ~ a + b'")
        features = frame[
            [name for name in frame.columns if str(name) in set(model._wanted([str(column) for column in frame], parsed))]
        ]
        response = pd.Series(np.broadcast_to(evaluate(parsed.response, frame), len(frame)))
        values = frame[weights].to_numpy(dtype=np.float64) if isinstance(weights, str) else weights
        data = read_training(model, features if features.shape[1] else frame[[frame.columns[0]]], response, values, None, na)
        # Variables are read from the frame as given, so that factors and gaps follow R's rules.
        return model._fit(frame, None, data.y, data.weights, parsed, parsed.response, as_written=True)

    def _check(self) -> None:
        if self.noise not in NOISES:
            raise UsageError(f"got noise={self.noise!r}, expected one of {', '.join(NOISES)}")
        if self.saturated not in ("forward", "raise"):
            raise UsageError(f"got saturated={self.saturated!r}, expected 'forward' or 'raise'")
        if self.k is not None and not is_cost(self.k):
            raise UsageError(
                f"got k={self.k!r:.60}, expected a number >= 0: what each coefficient costs", hint="2 is AIC, log(n) BIC."
            )

    def _formula(self, columns: Sequence[str]) -> Formula:
        if isinstance(self.terms, str):
            return parse_formula(self.terms, columns)
        if self.terms is not None:
            check_type(self.terms, Iterable, "terms", "a formula, or several terms", 'As in terms=["m*n*k", "m*n"].')
        if self.terms is None and self.upper is not None:
            return Formula(None, scope_terms(self.upper, columns), self.fit_intercept, (), parse("1"))
        entries = (
            [Term((column_label(name),)) for name in columns] if self.terms is None else [parse_term(entry) for entry in self.terms]
        )
        constant = self.fit_intercept or any(term.order == 0 for term in entries)
        return Formula(None, ordered_terms(entries), constant, (), parse("1"))

    def _wanted(self, columns: Sequence[str], formula: Formula) -> list[str]:
        """Columns that terms, scope and offset read."""
        scope = Settings.of(self).scope(formula, columns)
        texts = [name for term in (*formula.terms, *scope.all_terms()) for name in term.variables]
        read = [column for entry in texts for column in names(parse(entry))]
        read += [column for tree in (*formula.offsets, *self._offsets()) for column in names(tree)]
        return list(dict.fromkeys(read))

    def _offsets(self) -> tuple[Expression, ...]:
        return () if self.offset is None else (parse(self.offset),)

    def _fit(
        self,
        frame: Any,
        matrix: FloatArray | None,
        y: FloatArray,
        weights: FloatArray | None,
        formula: Formula,
        response: Expression,
        *,
        as_written: bool,
        groups: ArrayLike | None = None,
    ) -> Self:
        if self.noise == "relative":
            weights = relative_weights(y, weights)
        formula = Formula(response, formula.terms, formula.intercept, (*formula.offsets, *self._offsets()), formula.tree)
        fitted = fit_stepwise(frame, matrix, y, weights, formula, Settings.of(self), as_written=as_written, groups=groups)
        if self.n_draws:
            spread = replace(fitted.spread, draws=fitted.report.bootstrap_coefficients(self.n_draws))
            fitted = replace(fitted, spread=spread)
        self._publish(fitted)
        return self

    def _publish(self, fitted: FittedTerms) -> None:
        self._fitted = fitted
        self.spread_ = fitted.spread
        values = dict(zip(fitted.names, fitted.spread.coef.tolist(), strict=True))
        self.intercept_ = values.pop("(Intercept)", 0.0)
        self.coef_ = np.array(list(values.values()))
        self.coef_names_ = tuple(values)
        self.terms_ = fitted.terms.names
        self.rank_ = len(fitted.names)
        self.aliased_ = dict(fitted.aliased)

    @property
    def report_(self) -> FitReport:
        """Everything about the fit."""
        if not hasattr(self, "_fitted"):
            raise AttributeError("StepwiseOLS has no report before fit")
        return self._fitted.report

    @property
    def trace_(self) -> pd.DataFrame:
        """Every table of candidates: step, term, df, sum_sq, rss, aic (the criterion)."""
        return self._searched().trace()

    @property
    def path_(self) -> pd.DataFrame:
        """The path in the columns of R's ``anova``: Step, Df, Deviance, Resid. Df, Resid. Dev, AIC."""
        stored = self._fitted.report.stored_path if hasattr(self, "_fitted") else None
        return self._searched().path() if stored is None else stored

    @property
    def trace_text_(self) -> str:
        """What R's ``step`` prints."""
        stored = self._fitted.report.stored_trace if hasattr(self, "_fitted") else None
        return self._searched().text() if stored is None else stored

    def _searched(self) -> SearchOutcome:
        if not hasattr(self, "_fitted"):
            raise AttributeError("StepwiseOLS has no trace before fit")
        if self._fitted.searched is None:
            raise AttributeError("a model read from a file keeps its path in report_, not its trace")
        searched: SearchOutcome = self._fitted.searched
        return searched

    @property
    def domain_(self) -> Domain:
        """The measured domain of the terms in the model."""
        if not hasattr(self, "_fitted"):
            raise AttributeError("StepwiseOLS has no domain before fit")
        return self._fitted.domain()

    def _design(self, X: Any) -> tuple[Frame, FloatArray, FloatArray]:
        """Columns by name, model matrix of the kept columns, and offset of the rows of X."""
        check_is_fitted(self, "spread_")
        wanted = [str(name) for name in self.feature_names_in_] if hasattr(self, "feature_names_in_") else None
        frame = query(self, X, wanted)
        n_rows = len(next(iter(frame.values()))) if isinstance(frame, dict) else len(frame)
        return frame, self._fitted.design(frame, n_rows), self._fitted.offset(frame, n_rows)

    def predict(self, X: Any) -> FloatArray:
        """Means of the rows of X, shape (n_rows,), on the scale of the response."""
        _, design, offset = self._design(X)
        return evaluate_fixed_order(design, self.spread_.coef) + offset

    def predict_interval(self, X: Any, kind: str = "mean", level: float = 0.95, **options: Any) -> Interval:
        """Interval of the mean (``kind="mean"``) or of one run (``kind="run"``) of every row; see ``Spread.interval``.

        That of the mean takes rows for independent, also where ``fit`` was told groups: it is then too narrow.
        """
        _, design, offset = self._design(X)
        spread = self.run_spread() if kind == "run" else self.spread_
        interval = spread.interval(design, kind=kind, level=level, **options)
        return Interval(interval.lower + offset, interval.upper + offset, interval.level)

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        frame, design, _ = self._design(X)
        return self.domain_.contains(self._fitted.domain_frame(frame, len(design)), design)

    def domain_check(self, X: Any) -> DomainCheck:
        """Which rows lie inside the measured domain, and for the others why not."""
        frame, design, _ = self._design(X)
        return self.domain_.check(self._fitted.domain_frame(frame, len(design)), design)

    def sample(self, X: Any, rng: np.random.Generator, size: int, kind: str = "mean") -> FloatArray:
        """Joint draws of all rows, shape (size, n_rows); see ``Spread.sample``."""
        _, design, offset = self._design(X)
        spread = self.run_spread() if kind == "run" else self.spread_
        return spread.sample(design, rng, size, kind) + offset

    def run_spread(self) -> Spread:
        """``spread_`` with the residuals of left-out rows for intervals of runs.

        They come from the report's nested cross-validation, so there are none under ``report="none"``, nor for absolute noise with
        ten rows a column or more, nor below 39 rows without groups: Student's t with the full model's sigma is used then.
        """
        check_is_fitted(self, "spread_")
        if self.spread_.residuals is None and wanted_extras(self.report):
            self.spread_ = self.report_.with_left_out_residuals(self.spread_)
        return self.spread_

    def to_dict(self) -> dict[str, Any]:
        """Terms, coefficients, errors, domain and report as JSON types; no training rows."""
        check_is_fitted(self, "spread_")
        return stepwise_to_dict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Self:
        """The fitted estimator that ``to_dict`` wrote; predictions and intervals are bit-equal.

        Raises
        ------
        DataError
            With the JSON path of what is wrong.
        """
        model: Self = stepwise_from_dict(cls, document, path)
        return model


__all__ = ["FitReport", "Spread", "StepwiseOLS", "Terms"]
