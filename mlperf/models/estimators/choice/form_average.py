"""Several forms of one cost, weighed by an information criterion: where rows cannot tell two forms apart, both speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import FitError
from mlperf.core.json_fields import Fields
from mlperf.models.estimators.choice.cost_form import CONSTANT, CostForm, fit_form, form_columns
from mlperf.models.estimators.time_regressor import TimeRegressor, read_fitted_columns
from mlperf.models.formula.evaluate import evaluate
from mlperf.models.formula.expressions import Name, column_term
from mlperf.models.formula.inputs import columns_of_fit, query_frame, training_rows
from mlperf.models.uncertainty.domain import Domain, DomainCheck
from mlperf.models.uncertainty.intervals import Interval, check_kind

LEAST_WEIGHT = 1e-3
FURTHEST_LOG = 2.0
N_DRAWS = 400


@dataclass(eq=False, repr=False)
class FormAverage(TimeRegressor):
    """Forms of a cost that compete by AICc and are averaged by Akaike weight.

    Rows with equal inputs are one point: repeats of a measurement say nothing about the form. A form whose coefficients are not
    all above zero does not stand.

    Parameters
    ----------
    forms : sequence of sequence of str, optional
        Terms of each form, expressions over columns; ``"1"`` is the constant. Default: the constant, every column alone, and
        each with the constant.
    floor : float
        Relative error of one point below which forms do not differ: the noise of a mean.
    noise : float, optional
        Relative error of a form where it is known; forms are then weighed by their likelihood.

    Attributes
    ----------
    forms_ : tuple of CostForm
        Those with a weight of at least 0.001.
    weights_ : array, shape (n_forms,)
        Sum 1.
    sigma_ : float
        Relative error of a point about its form.
    n_points_ : int
        Rows with different inputs.

    References
    ----------
    Burnham and Anderson (2002), Model Selection and Multimodel Inference, chapters 2 and 4.
    """

    forms: Sequence[Sequence[str]] | None = None
    floor: float = 0.01
    noise: float | None = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit every form on the distinct rows of X.

        Parameters
        ----------
        X : DataFrame or array, shape (n_rows, n_columns)
        y : array-like, shape (n_rows,)
            Positive times.
        sample_weight : array-like, shape (n_rows,), optional
            Weights >= 0 in the mean time of rows with equal inputs, as if each were there as often; a point counts once, however
            heavy its rows, and not where all of them weigh zero.

        Raises
        ------
        FitError
            No form stands.
        """
        read = None if self.forms is None else form_columns([term for form in self.forms for term in form])
        rows = training_rows(self, X, y, sample_weight, terms=read)
        alone = [column_term(str(name)) for name in rows.frame]
        forms = self.forms or [(CONSTANT,), *(form for name in alone for form in ((name,), (CONSTANT, name)))]
        columns = list(form_columns([term for form in forms for term in form]))
        points, times = distinct_points(rows.frame[columns], rows.y, None if sample_weight is None else rows.weight)
        values = {name: evaluate(Name(name), points) for name in columns}
        fitted = [form for form in (fit_form(terms, values, times) for terms in forms) if form is not None]
        if not fitted:
            raise FitError(
                f"got {len(times)} rows with different inputs, on which none of {len(forms)} forms stands",
                hint="Measure more sizes, or offer forms with fewer terms.",
            )
        return self.set_forms(fitted, form_weights(fitted, len(times), self.floor, self.noise), points)

    def set_forms(self, forms: Sequence[CostForm], weights: FloatArray, points: pd.DataFrame) -> Self:
        """Take fitted forms with their weights, fitted on ``points``; those that hardly count are dropped."""
        kept = weights >= LEAST_WEIGHT * weights.max()
        self.forms_ = tuple(form for form, counts in zip(forms, kept, strict=True) if counts)
        self.weights_ = np.asarray(weights[kept] / weights[kept].sum())
        self.n_points_ = len(points)
        variances = [form.squares / max(self.n_points_ - len(form.terms), 1) for form in self.forms_]
        self.sigma_ = float(np.sqrt(self.weights_ @ np.array(variances) + (self.noise or self.floor) ** 2))
        self._points = points
        self.__dict__.pop("domain_", None)
        return self

    @cached_property
    def domain_(self) -> Domain:
        """The measured domain, learned on first use: most averages are of folds, which are asked for predictions alone."""
        check_is_fitted(self, "forms_")
        return Domain.fit(self._points)

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,): the geometric mean of the forms, by weight."""
        values, n_rows = self._values(X)
        logs = np.array([np.log(form.predict(values, n_rows)) for form in self.forms_])
        return np.asarray(np.exp(self.weights_ @ logs))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        return self.domain_.contains(self._measured(X))

    def domain_check(self, X: Any) -> DomainCheck:
        """Which rows lie inside the measured domain, and for the others why not."""
        return self.domain_.check(self._measured(X))

    def sample(self, X: Any, rng: np.random.Generator, size: int, kind: str = "run") -> FloatArray:
        """Joint draws of form and coefficients, shape (size, n_rows); ``kind="run"`` adds the error about the form.

        The form of draw i comes from the i-th of the first ``size`` uniform numbers of ``rng``: models drawn with equal
        generators take comparable forms together.
        """
        check_kind(kind, 0.5)
        values, n_rows = self._values(X)
        chosen = np.searchsorted(np.cumsum(self.weights_), rng.uniform(size=size) * (1.0 - 1e-12))
        logs = np.empty((size, n_rows))
        for number, form in enumerate(self.forms_):
            mine = np.flatnonzero(chosen == number)
            if mine.size:
                shifts = rng.multivariate_normal(np.zeros(len(form.coef)), self.sigma_**2 * form.covariance, mine.size)
                moved = np.clip(shifts @ form.log_slopes(values, n_rows).T, -FURTHEST_LOG, FURTHEST_LOG)
                logs[mine] = np.log(form.predict(values, n_rows)) + moved
        if kind == "run":
            logs += self.sigma_ * rng.standard_normal(logs.shape)
        return np.asarray(np.exp(logs))

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """Quantiles of 400 draws with a fixed seed, see `sample`."""
        check_kind(kind, level)
        drawn = self.sample(X, np.random.default_rng(0), N_DRAWS, kind)
        lower, upper = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
        return Interval(lower, upper, level)

    def table(self) -> pd.DataFrame:
        """One row a form: ``form``, ``weight``, ``rms_error`` (relative, of its points)."""
        errors = [float(np.sqrt(np.mean(form.log_residuals**2))) for form in self.forms_]
        text = [
            " + ".join(f"{value:.4g} {_factor_text(term)}" for value, term in zip(form.coef, form.terms, strict=True))
            for form in self.forms_
        ]
        frame = pd.DataFrame({"form": text, "weight": self.weights_, "rms_error": errors})
        return frame.sort_values("weight", ascending=False, ignore_index=True)

    @property
    def told_apart(self) -> bool:
        """Whether one form has more weight than every other: rows that fit several equally well leave the form open."""
        return int(np.isclose(self.weights_, self.weights_.max()).sum()) == 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the forms read."""
        return form_columns([term for form in self.forms_ for term in form.terms])

    def _measured(self, X: Any) -> pd.DataFrame:
        """The columns of the domain, numbers first."""
        return self._frame(X)[[*self.domain_.names, *self.domain_.levels]]

    def _values(self, X: Any) -> tuple[dict[str, FloatArray], int]:
        """Columns that the forms read, and the rows of X: dozens of forms would each take the same ones out of a frame."""
        frame = self._frame(X)
        return {name: evaluate(Name(name), frame) for name in self.columns}, len(frame)

    def _frame(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        array = columns_of_fit(self, X, among_others=True)
        if array is not None and names is not None:
            return pd.DataFrame(array, columns=list(names))
        if names is not None and isinstance(X, pd.DataFrame) and set(names) <= set(X.columns):
            X = X[list(names)]
        return query_frame(self, X)

    def to_dict(self) -> dict[str, Any]:
        """Forms, weights and domain as JSON types."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "forms": [form.to_dict() for form in self.forms_],
            "weights": self.weights_.tolist(),
            "sigma": self.sigma_,
            "n_points": self.n_points_,
            "n_features": self.n_features_in_,
            "names": None if names is None else [str(name) for name in names],
            "floor": self.floor,
            "noise": self.noise,
            "domain": self.domain_.to_dict(),
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
            stored = fields.items("forms")
            forms = tuple(CostForm.from_dict(value, f"{path}.forms[{place}]") for place, value in enumerate(stored))
            noise = None if fields.absent("noise") else fields.number("noise", lower=0.0)
            model = cls([form.terms for form in forms], fields.number("floor", lower=0.0), noise)
            model.forms_, model.weights_ = forms, fields.numbers("weights", len(forms))
            model.sigma_, model.n_points_ = fields.number("sigma", lower=0.0), fields.integer("n_points", lower=1)
            read_fitted_columns(model, fields, "names")
            model.domain_ = Domain.from_dict(fields.raw("domain"), f"{path}.domain")
            return model


def distinct_points(frame: pd.DataFrame, y: FloatArray, weight: FloatArray | None = None) -> tuple[pd.DataFrame, FloatArray]:
    """Rows with different inputs and the mean, by weight > 0, of the times measured at each."""
    if frame.shape[1] == 0:
        return frame.iloc[:1], np.array([np.average(y, weights=weight)])
    shares = np.ones(len(y)) if weight is None else weight
    sums = frame.assign(_time=shares * y, _weight=shares).groupby(list(frame.columns), sort=True)[["_time", "_weight"]].sum()
    return sums.index.to_frame(index=False), (sums["_time"] / sums["_weight"]).to_numpy(float)


def form_weights(forms: Sequence[CostForm], n_points: int, floor: float, noise: float | None) -> FloatArray:
    """Akaike weights of fitted forms, shape (n_forms,): AICc where at least two forms leave it finite, else AIC.

    With ``noise``, residuals have that known relative size and forms are weighed by likelihood and number of terms alone.
    """
    squares = np.array([form.squares for form in forms])
    n_terms = np.array([len(form.terms) for form in forms], float)
    if noise is not None:
        return akaike_weights(squares / noise**2 + 2.0 * n_terms)
    return akaike_weights(corrected_criterion(squares, n_terms + 1.0, float(n_points), floor))


def corrected_criterion(squares: FloatArray, n_parameters: FloatArray, n_points: float, floor: float) -> FloatArray:
    """AICc of residual sums of squares of logarithms, with a floor on the error of a point; AIC where AICc judges fewer than two.

    A form that takes nearly a parameter for each point cannot be judged: its criterion is infinite, unless none takes fewer.
    """
    criterion = n_points * np.log(squares / n_points + floor**2) + 2.0 * n_parameters
    left = n_points - n_parameters - 1.0
    if (left > 0.0).sum() < 2:
        judged = (left >= 0.0) | (n_parameters == n_parameters.min())
        return np.where(judged, criterion, np.inf)
    safe = np.where(left > 0.0, left, 1.0)
    corrected = criterion + 2.0 * n_parameters * (n_parameters + 1.0) / safe
    return np.where(left > 0.0, corrected, np.inf)


def akaike_weights(criterion: FloatArray) -> FloatArray:
    """exp(-criterion / 2), shape as given, of sum 1."""
    weights = np.exp(-0.5 * (criterion - criterion.min()))
    return np.asarray(weights / weights.sum())


def _factor_text(term: str) -> str:
    """A term as what a coefficient stands before: sums in parentheses."""
    depth, is_sum = 0, False
    for place, letter in enumerate(term):
        depth += (letter == "(") - (letter == ")")
        is_sum |= depth == 0 and term[place : place + 3] in (" + ", " - ")
    return f"({term})" if is_sum else term
