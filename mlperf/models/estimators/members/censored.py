"""Normal regression with responses of which some are only known to be larger, its terms chosen by AIC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import FitError
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.shown import Shown, plain
from mlperf.models.algebra.censored_fit import CensoredFit, fit_censored
from mlperf.models.algebra.fixed_order import evaluate_fixed_order
from mlperf.models.estimators.time_regressor import check_coefficients, parameters_of, read_fitted_columns
from mlperf.models.formula.inputs import Rows, finite_columns, learn_terms, query_frame, training_rows
from mlperf.models.formula.terms import Term, Terms
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.spread import Spread

ROUNDING = 1e-13
Model = tuple[int, ...]
"""Positions of terms among the candidates."""


@dataclass(frozen=True, slots=True, eq=False)
class CensoredReport(Shown):
    """What a censored fit found.

    Attributes
    ----------
    coefficients : DataFrame
        By column: ``coef, std_err, t_value, p_value`` of Wald's test.
    path : DataFrame
        ``formula, aic`` of each model that the selection went through.
    n_rows, n_censored : int
        Rows of weight above zero, each counted once.
    sigma, log_likelihood, aic : float
        ``sigma`` of maximum likelihood.
    """

    coefficients: pd.DataFrame
    path: pd.DataFrame
    n_rows: int
    n_censored: int
    sigma: float
    log_likelihood: float
    aic: float

    def to_frame(self) -> pd.DataFrame:
        """The coefficient table."""
        return self.coefficients


class CensoredNormal(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression by maximum likelihood, where some responses are lower bounds of what was not seen.

    The selection starts with every term and takes the step, a term less or a term more, that lowers AIC most, until none does.
    Without a censored row selection and coefficients are those of `StepwiseOLS`; the variance is the selected model's own.

    Parameters
    ----------
    terms : sequence of str, optional
        Candidates; default every column as it is.
    select : bool
        Whether terms may leave.

    Attributes
    ----------
    terms_ : Terms
    spread_ : Spread
    domain_ : Domain
    report_ : CensoredReport

    References
    ----------
    Tobin (1958), Estimation of relationships for limited dependent variables; Kalbfleisch and Prentice (1980), chapter 3.
    """

    uses_groups = False

    def __init__(self, terms: Sequence[str] | None = None, select: bool = True) -> None:
        self.terms = terms
        self.select = select

    def fit(self, X: Any, y: ArrayLike, censored: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Choose terms and fit them.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
        censored : array-like of bool, shape (n_samples,), optional
            Rows whose response is larger than their y; default none.
        sample_weight : array-like, shape (n_samples,), optional
            How often each row counts, >= 0, as R's ``survreg`` takes it: likelihood, AIC, errors and degrees of freedom are those
            of rows repeated as often.

        Raises
        ------
        FitError
            Rows that are not censored count no more than the columns.
        DataError
            A term that is not finite on some row, or a missing column.
        """
        rows = training_rows(self, X, y, sample_weight, terms=self.terms, positive=False, n_least=2)
        above = np.zeros(len(rows.y), bool) if censored is None else np.asarray(censored, bool)[rows.kept]
        candidates = learn_terms(self.terms, rows.frame)
        search = _Search(candidates, rows, above)
        path = search.run() if self.select else [search.whole()]
        self._publish(candidates.subset(search.terms_of(path[-1])), search.fits[path[-1]], rows, above)
        self._told(pd.DataFrame({"formula": [search.formula(model) for model in path], "aic": [search.aic(m) for m in path]}))
        return self

    def _publish(self, terms: Terms, fit: CensoredFit, rows: Rows, censored: BoolArray) -> None:
        columns = finite_columns(terms, rows.frame)
        n_known = float(rows.weight[~censored].sum())
        df = float(max(n_known - len(fit.coef), 1.0))
        # What least squares does for the lost degrees of freedom.
        sigma = fit.sigma * np.sqrt(n_known / df)
        factor = _upper_factor(fit.covariance[:-1, :-1]) / fit.sigma
        self.terms_ = terms
        self.spread_ = Spread(coef=fit.coef, factor=factor, sigma=float(sigma), df=df)
        self.domain_ = Domain.fit(rows.frame, columns.matrix, tuple(columns.names))
        self._figures = (list(columns.names), len(censored), int(censored.sum()), fit.sigma, fit.log_likelihood, fit.aic)

    def _told(self, path: pd.DataFrame) -> None:
        names, n_rows, n_censored, sigma, log_likelihood, aic = self._figures
        table = _coefficients(names, self.spread_)
        self.report_ = CensoredReport(table, path, n_rows, n_censored, sigma, log_likelihood, aic)

    def _design(self, X: Any) -> tuple[pd.DataFrame, FloatArray]:
        check_is_fitted(self, "spread_")
        frame = query_frame(self, X, terms=self.terms)
        return frame, finite_columns(self.terms_, frame).matrix

    def predict(self, X: Any) -> FloatArray:
        """Mean responses of the rows of X, shape (n_rows,)."""
        return evaluate_fixed_order(self._design(X)[1], self.spread_.coef)

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        return self.domain_.contains(*self._design(X))

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of the mean (``kind="mean"``) or of one run (``kind="run"``) of every row; see `Spread.interval`."""
        return self.spread_.interval(self._design(X)[1], kind=kind, level=level)

    def to_dict(self) -> dict[str, Any]:
        """Terms, coefficients, errors, domain and report as JSON types; no training rows."""
        check_is_fitted(self, "spread_")
        names, n_rows, n_censored, sigma, log_likelihood, aic = self._figures
        columns = getattr(self, "feature_names_in_", None)
        return {
            "parameters": {"terms": None if self.terms is None else list(self.terms), "select": self.select},
            "columns": None if columns is None else [str(name) for name in columns],
            "n_features": self.n_features_in_,
            "terms": self.terms_.to_dict(),
            "spread": self.spread_.to_dict(),
            "domain": self.domain_.to_dict(),
            "names": names,
            "n_rows": n_rows,
            "n_censored": n_censored,
            "sigma": sigma,
            "log_likelihood": log_likelihood,
            "aic": aic,
            "path": plain(self.report_.path),
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
            model = cls(**parameters_of(cls, fields.child("parameters")))
            read_fitted_columns(model, fields, "columns")
            model.terms_ = Terms.from_dict(fields.raw("terms"), f"{path}.terms")
            model.spread_ = Spread.from_dict(fields.raw("spread"), f"{path}.spread")
            check_coefficients(model.terms_, model.spread_.coef, path)
            model.domain_ = Domain.from_dict(fields.raw("domain"), f"{path}.domain")
            model._figures = (
                list(fields.texts("names", len(model.spread_.coef))),
                fields.integer("n_rows"),
                fields.integer("n_censored"),
                fields.number("sigma", lower=0.0),
                fields.number("log_likelihood"),
                fields.number("aic"),
            )
            model._told(frame_from_dict(fields.raw("path"), f"{path}.path"))
        return model


class _Search:
    """Models over some candidates, each fitted once."""

    def __init__(self, candidates: Terms, rows: Rows, censored: BoolArray) -> None:
        columns = finite_columns(candidates, rows.frame)
        self.terms = candidates.terms
        self.y, self.weight, self.censored = rows.y, rows.weight, censored
        self.matrix, self.assign = columns.matrix, columns.assign
        self.fits: dict[Model, CensoredFit] = {}

    def whole(self) -> Model:
        """Every candidate that adds something on the rows that are not censored, in their order."""
        chosen: Model = ()
        for position in range(len(self.terms)):
            columns = self._columns((*chosen, position))[~self.censored]
            if np.linalg.matrix_rank(columns / np.abs(columns).max(axis=0, initial=1e-300)) == columns.shape[1]:
                chosen = (*chosen, position)
        # Where rows are few, no model may have as many columns as rows.
        while chosen and self._columns(chosen).shape[1] >= self.weight[~self.censored].sum():
            chosen = chosen[:-1]
        self._fit(chosen)
        return chosen

    def run(self) -> list[Model]:
        """The models of the selection, the best last."""
        path = [self.whole()]
        allowed = set(path[0])
        while True:
            last = path[-1]
            less = [tuple(each for each in last if each != gone) for gone in last]
            more = [tuple(sorted((*last, new))) for new in sorted(allowed - set(last))]
            best = min((*less, *more), key=self.aic, default=last)
            if self.aic(best) >= self.aic(last):
                return path
            path.append(best)

    def aic(self, model: Model) -> float:
        """Akaike's criterion of a model."""
        return self._fit(model).aic

    def terms_of(self, model: Model) -> tuple[Term, ...]:
        """The terms of a model."""
        return tuple(self.terms[position] for position in model)

    def formula(self, model: Model) -> str:
        """The right side of a model."""
        return "~ " + (" + ".join(term.name for term in self.terms_of(model)) or "1")

    def _fit(self, model: Model) -> CensoredFit:
        if model not in self.fits:
            self.fits[model] = fit_censored(self._columns(model), self.y, self.censored, self.weight)
        return self.fits[model]

    def _columns(self, model: Model) -> FloatArray:
        kept = np.isin(self.assign, [0, *(position + 1 for position in model)])
        return np.asarray(self.matrix[:, kept])


def _upper_factor(covariance: FloatArray) -> FloatArray:
    """The upper triangle U with U U' = covariance, as `Spread` takes it."""
    # A fit without residuals has no covariance to speak of: rounding must not make it indefinite.
    safe = covariance + np.diag(ROUNDING * np.diag(covariance) + np.finfo(float).tiny)
    return np.ascontiguousarray(np.linalg.cholesky(safe[::-1, ::-1])[::-1, ::-1])


def _coefficients(names: Sequence[str], spread: Spread) -> pd.DataFrame:
    """Wald's test of every coefficient."""
    if spread.factor is None:
        raise FitError("got no covariance, expected one")
    std_err = spread.sigma * np.sqrt((spread.factor**2).sum(axis=1))
    t_value = np.divide(spread.coef, std_err, out=np.full(len(std_err), np.inf), where=std_err > 0)
    p_value = 2.0 * stats.t.sf(np.abs(t_value), spread.df)
    columns = {"coef": spread.coef, "std_err": std_err, "t_value": t_value, "p_value": p_value}
    return pd.DataFrame(columns, index=pd.Index(list(names)))
