"""Stepwise selection on the logarithm of a time, the mean by smearing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.json_fields import Fields
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.estimators.time_regressor import TimeRegressor, read_fitted_columns
from mlperf.models.formula.inputs import query_frame, training_rows
from mlperf.models.uncertainty.intervals import Interval


@dataclass(eq=False, repr=False)
class LogStepwiseOLS(TimeRegressor):
    """Stepwise selection on the logarithm of the time; ``predict`` gives the mean by Duan's smearing.

    Parameters
    ----------
    terms : sequence of str, optional
        Candidates, as for `StepwiseOLS`; default every column.
    max_steps : int
        Of the selection; 0 keeps every term.

    Attributes
    ----------
    model_ : StepwiseOLS
        The fit of the logarithm.
    smearing_ : float
        Mean of exp(residual), by weight: the factor on predictions.
    choice_ : str
        How many terms were kept.

    References
    ----------
    Duan (1983), Smearing estimate: a nonparametric retransformation method.
    """

    terms: Sequence[str] | None = None
    max_steps: int = 1000

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select on log y.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
            Positive times.
        sample_weight : array-like, shape (n_samples,), optional
            Precision weights >= 0 of the logarithms: coefficients of the chosen terms and smearing are those of rows repeated as
            often; selection and errors count each row once, and rows of weight zero not.

        Raises
        ------
        FitError
            A time that is not positive.
        """
        rows = training_rows(self, X, y, sample_weight, terms=self.terms)
        logs = np.log(rows.y)
        terms = None if self.terms is None else list(self.terms)
        self.model_ = StepwiseOLS(terms=terms, max_steps=self.max_steps, report="none").fit(
            rows.frame, logs, None if sample_weight is None else rows.weight
        )
        self.smearing_ = float(np.average(np.exp(logs - self.model_.predict(rows.frame)), weights=rows.weight))
        n_terms = rows.frame.shape[1] if terms is None else len(terms)
        self.choice_ = f"{len(self.model_.terms_)} of {n_terms} terms"
        return self

    def _rows(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self, "model_")
        return query_frame(self, X, terms=self.terms)

    def predict(self, X: Any) -> FloatArray:
        """Mean times of the rows of X, shape (n_rows,)."""
        rows = self._rows(X)
        return np.asarray(self.smearing_ * np.exp(self.model_.predict(rows)))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,)."""
        rows = self._rows(X)
        return self.model_.in_domain(rows)

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of a run, from that of its logarithm."""
        rows = self._rows(X)
        logs = self.model_.predict_interval(rows, kind=kind, level=level)
        return Interval(np.exp(logs.lower), np.exp(logs.upper), level)

    def to_dict(self) -> dict[str, Any]:
        """The fit of the logarithm and the smearing as JSON types; `from_dict` reads them back."""
        from mlperf.models.storage.store import model_to_dict

        check_is_fitted(self, "model_")
        labels = getattr(self, "feature_names_in_", None)
        return {
            "parameters": self.parameters_to_dict(),
            "feature_names": None if labels is None else [str(label) for label in labels],
            "n_features": self.n_features_in_,
            "model": model_to_dict(self.model_),
            "smearing": self.smearing_,
            "choice": self.choice_,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Self:
        """The fitted model that `to_dict` wrote; DataError with the JSON path of what is wrong."""
        from mlperf.models.storage.store import model_from_dict

        with Fields(document, path) as fields:
            model = cls.from_parameters(fields.child("parameters"))
            read_fitted_columns(model, fields, "feature_names")
            model.model_ = model_from_dict(fields.raw("model"), f"{path}.model")
            model.smearing_ = fields.number("smearing", lower=0.0)
            model.choice_ = fields.text("choice")
        return model
