"""One method on any table: rare levels pooled, terms found in the rows, predictions that stay positive and say where they guess."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.json_fields import Fields
from mlperf.models.estimators.choice.selected_terms import SelectedTerms
from mlperf.models.estimators.time_regressor import TimeRegressor
from mlperf.models.formula.expressions import Name, names, parse, text
from mlperf.models.formula.inputs import query_frame, training_rows
from mlperf.models.formula.terms import Terms
from mlperf.models.regressor import fit_in_groups
from mlperf.models.storage.store import model_from_dict, model_to_dict
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.left_out import flagged
from mlperf.training.table.levels import Levels
from mlperf.training.table.methods import METHODS, Question
from mlperf.training.table.screening import columns_that_matter, is_number, log_terms, screened_terms

Screen = Callable[..., tuple[str, ...]]
LEAST_SHARE = 0.25
"""No time is predicted below this share of the smallest that was measured; such a row is outside the domain."""
MOST_SIZES = 8
"""Distances in more columns tell near rows from far ones no more."""


@dataclass(eq=False, repr=False)
class TableRegressor(TimeRegressor):
    """A method by name, fitted to the rows of a frame with numbers and texts.

    Parameters
    ----------
    method : str
        Of `mlperf.training.table.methods.METHODS`.
    terms : sequence of str, or str, optional
        Candidates of sums of costs, or the right side of a formula; by default they are found in the rows (`screened_terms`).
    options : mapping, optional
        Further parameters of `StepwiseOLS`, for the method ``ols``.
    seed : int
        Of samples, inner folds and learners.
    floored : bool
        Whether no time is predicted below a quarter of the smallest.
    screen : callable
        Finds terms where none are given, as `screened_terms` does.

    Attributes
    ----------
    terms_ : tuple of str, or str
        What was offered.
    member_ : estimator
        The fitted method.
    levels_ : Levels
        Rare levels of texts.
    n_used_ : int
        Rows that the method looked at.
    """

    method: str = "ols"
    terms: Any = None
    options: Mapping[str, Any] | None = None
    seed: int = 0
    floored: bool = True
    screen: Screen = screened_terms

    uses_groups = True

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Pool levels, find terms, fit.

        Parameters
        ----------
        X : DataFrame or array, shape (n_rows, n_columns)
        y : array-like, shape (n_rows,)
            > 0, but for ``ols`` with ``noise="absolute"``.
        groups : array-like, shape (n_rows,), optional
            What is left out together where the method tests itself.

        Raises
        ------
        FitError
            The method cannot be fitted to these rows.
        """
        rows = training_rows(self, X, y, positive=False, n_least=2)
        frame, times = rows.frame, rows.y
        method = METHODS[self.method]
        keys = None if groups is None else np.asarray(groups)
        if len(times) > method.most_rows:
            part = np.sort(np.random.default_rng(self.seed).choice(len(times), method.most_rows, replace=False))
            frame, times, keys = frame.iloc[part], times[part], None if keys is None else keys[part]
        self.n_used_ = len(times)
        self.levels_ = Levels.fit(frame)
        pooled = self.levels_.apply(frame).reset_index(drop=True)
        asked = self._question(pooled, times)
        self.terms_ = asked.terms
        name = getattr(y, "name", None)
        fitted = fit_in_groups(method.make(asked), pooled, times if name is None else pd.Series(times, name=str(name)), keys)
        self.member_ = fitted.member_ if isinstance(fitted, SelectedTerms) else fitted
        self.least_ = max(LEAST_SHARE * float(times.min()), 0.0)
        return self

    def _question(self, frame: pd.DataFrame, times: FloatArray) -> Question:
        numbers = {str(name): frame[name].to_numpy(float) for name in frame if is_number(frame[name])}
        quoted = tuple(text(Name(str(name))) for name in frame)
        if not (times > 0.0).all():
            return Question(self.terms or quoted, (), (), (), (), self.options or {}, self.seed)
        factors = [str(name) for name in frame if str(name) not in numbers]
        many = len(numbers) > MOST_SIZES
        telling = (columns_that_matter(numbers, times, MOST_SIZES) if many else []) or list(numbers)
        terms = self.screen(frame, times, seed=self.seed) if self.terms is None else self.terms
        sizes = tuple(text(Name(name)) for name in (*telling, *factors))
        return Question(terms, *log_terms(frame, times), sizes, quoted, self.options or {}, self.seed)

    @property
    def columns_(self) -> tuple[str, ...]:
        """Columns that a row to predict must have."""
        return tuple(map(str, self.member_.feature_names_in_))

    @property
    def n_parameters_(self) -> int:
        """Coefficients of the fit with its constant; 1 where there are none."""
        fit = getattr(self.member_, "model_", self.member_)
        return 1 + int(np.count_nonzero(getattr(fit, "coef_", ())))

    def predict(self, X: Any) -> FloatArray:
        """The target of each row, shape (n_rows,); a time is never below a quarter of the smallest that was measured."""
        return self._floored(self._raw(self._rows(X)))

    def _raw(self, rows: pd.DataFrame) -> FloatArray:
        return np.asarray(self.member_.predict(rows), float)

    def _floored(self, raw: FloatArray) -> FloatArray:
        return np.maximum(raw, self.least_) if self.floored and self.least_ > 0.0 else raw

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, no label rare or new and no time cut off; shape (n_rows,)."""
        return self.predict_flagged(X)[1]

    def predict_flagged(self, X: Any) -> tuple[FloatArray, BoolArray]:
        """What `predict` and `in_domain` say of each row, shape (n_rows,) each, the member asked once."""
        frame = self._read(X)
        rows = self.levels_.apply(frame)
        raw, known = flagged(self.member_, rows)
        inside = known & ~self.levels_.guessed(frame)
        return self._floored(raw), inside & (raw >= self.least_) if self.least_ > 0.0 else inside

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """What the method itself says of each row, shape (n_rows,), not below the floor of predictions.

        Raises
        ------
        FitError
            The method has no interval of its own.
        """
        found: Interval = self.member_.predict_interval(self._rows(X), kind=kind, level=level)
        return Interval(self._floored(found.lower), self._floored(found.upper), level)

    def undefined(self, X: Any) -> BoolArray:
        """Rows on which a term of the method has no value, as the logarithm of zero has none; shape (n_rows,)."""
        rows = self._rows(X)
        found = np.zeros(len(rows), bool)
        for terms in _terms_within(self.member_):
            found |= ~np.isfinite(terms.columns(rows).matrix).all(axis=1)
        return found

    def _rows(self, X: Any) -> pd.DataFrame:
        frame = self._read(X)
        return self.levels_.apply(frame)

    def _read(self, X: Any) -> pd.DataFrame:
        """The columns that the member reads; a frame may lack or add others."""
        check_is_fitted(self, "member_")
        names = list(self.columns_)
        if isinstance(X, pd.DataFrame) and set(names) <= set(X.columns) and len(X.columns) != self.n_features_in_:
            return X[names]
        return query_frame(self, X)[names]

    def to_dict(self) -> dict[str, Any]:
        """State after ``fit`` as JSON types."""
        return {
            "method": self.method,
            "feature_names": [str(name) for name in getattr(self, "feature_names_in_", ())],
            "n_features": self.n_features_in_,
            "terms": self.terms_ if isinstance(self.terms_, str) else list(self.terms_),
            "levels": self.levels_.to_dict(),
            "least": self.least_,
            "n_used": self.n_used_,
            "model": model_to_dict(self.member_),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Self:
        """The fitted regressor that `to_dict` wrote; DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            terms = fields.raw("terms")
            made = cls(fields.text("method", tuple(METHODS)), terms if isinstance(terms, str) else fields.texts("terms"))
            made.terms_ = made.terms
            made.n_features_in_ = fields.integer("n_features", lower=1)
            labels = fields.texts("feature_names")
            if labels:
                made.feature_names_in_ = np.array(labels, dtype=object)
            made.levels_ = Levels.from_dict(fields.raw("levels"), f"{path}.levels")
            made.least_ = fields.number("least")
            made.n_used_ = fields.integer("n_used", lower=1)
            made.member_ = model_from_dict(fields.raw("model"), f"{path}.model")
        return made


def _terms_within(estimator: Any) -> Iterator[Terms]:
    """Terms of a fitted method and of the methods that it is made of."""
    own = (getattr(estimator, "terms_", None), getattr(estimator, "size_terms_", None))
    fitted = getattr(getattr(estimator, "_fitted", None), "terms", None)
    yield from (terms for terms in (*own, fitted) if isinstance(terms, Terms) and terms.terms)
    for name in ("model_", "base_"):
        if hasattr(estimator, name):
            yield from _terms_within(getattr(estimator, name))


def formula_terms(formula: str, target: str) -> str:
    """The right side of a formula whose left side is ``target``, as StepwiseOLS's ``terms`` takes it: ``"~ a * b"``."""
    left, tilde, right = formula.partition("~")
    if not tilde or left.strip().strip("`") not in {"", target}:
        raise UsageError(f"got formula {formula!r}, expected '{target} ~ ...'", hint="Transform the target in the table itself.")
    return f"~{right}"


def read_columns(terms: Sequence[str] | str) -> tuple[str, ...]:
    """Columns that some terms read, in the order in which they appear."""
    listed = [terms.lstrip("~ ")] if isinstance(terms, str) else terms
    return tuple(dict.fromkeys(name for term in listed for name in names(parse(term))))
