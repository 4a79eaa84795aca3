"""One form of a cost: a sum of terms, none of which can cost less than nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from mlperf.core.arrays import FloatArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown, plain
from mlperf.models.formula.evaluate import evaluate
from mlperf.models.formula.expressions import names, parse

CONSTANT = "1"


@dataclass(frozen=True, slots=True, eq=False)
class CostForm(Shown):
    """A fitted form.

    Attributes
    ----------
    terms : tuple of str
        Arithmetic expressions over columns; ``"1"`` is the constant.
    coef : array, shape (n_terms,)
        Coefficients > 0, in the unit of y.
    log_residuals : array, shape (n_rows,)
        log(measured / predicted) of the rows it was fitted on.
    covariance : array, shape (n_terms, n_terms)
        Of the coefficients when residuals have variance 1.
    """

    terms: tuple[str, ...]
    coef: FloatArray
    log_residuals: FloatArray
    covariance: FloatArray

    def predict(self, frame: Any) -> FloatArray:
        """Costs of the rows of a frame, shape (n_rows,)."""
        return np.asarray(form_matrix(self.terms, frame) @ self.coef)

    def log_slopes(self, frame: Any) -> FloatArray:
        """Derivatives of the logarithm of the cost by the coefficients, shape (n_rows, n_terms)."""
        matrix = form_matrix(self.terms, frame)
        return np.asarray(matrix / (matrix @ self.coef)[:, None])

    def to_dict(self) -> dict[str, Any]:
        """JSON types."""
        return {
            "terms": list(self.terms),
            "coef": plain(self.coef),
            "log_residuals": plain(self.log_residuals),
            "covariance": plain(self.covariance),
        }

    @classmethod
    def from_dict(cls, value: Any, path: str) -> CostForm:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            terms = fields.texts("terms")
            return cls(
                terms,
                fields.numbers("coef", len(terms)),
                fields.numbers("log_residuals"),
                fields.matrix("covariance", len(terms), len(terms)),
            )


def form_columns(terms: Sequence[str]) -> tuple[str, ...]:
    """Columns that the terms read, each once."""
    return tuple(dict.fromkeys(name for term in terms for name in names(parse(term))))


def form_matrix(terms: Sequence[str], frame: Any) -> FloatArray:
    """Values of the terms, shape (n_rows, n_terms)."""
    n_rows = len(frame)
    return np.column_stack([np.broadcast_to(evaluate(parse(term), frame), (n_rows,)) for term in terms])


def fit_form(terms: Sequence[str], frame: Any, y: FloatArray) -> CostForm | None:
    """Least squares of relative errors with coefficients >= 0; None where a term is not needed or not told from another.

    Parameters
    ----------
    terms : sequence of str
        At least one.
    frame : DataFrame
        Columns of the terms.
    y : array, shape (n_rows,)
        Times > 0.
    """
    if len(terms) > len(y):
        return None
    matrix = form_matrix(terms, frame) / y[:, None]
    scale = np.sqrt((matrix * matrix).sum(axis=0))
    if not (np.isfinite(scale).all() and (scale > 0.0).all()):
        return None
    relative = matrix / scale
    if np.linalg.matrix_rank(relative) < len(terms):
        return None
    found = nnls(relative, np.ones(len(y)))[0]
    if (found <= 0.0).any():
        return None
    inverse = np.linalg.inv(relative.T @ relative)
    return CostForm(tuple(terms), found / scale, -np.log(relative @ found), inverse / np.outer(scale, scale))
