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
from mlperf.models.formula.evaluate import Frame, evaluate
from mlperf.models.formula.expressions import names, parse

CONSTANT = "1"
LEAST_COST = 1e-30
"""What a form says at least where its terms fall below zero, far outside what was measured."""


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

    @property
    def squares(self) -> float:
        """Sum of the squared log residuals."""
        return float(self.log_residuals @ self.log_residuals)

    @property
    def text(self) -> str:
        """The form as a sum: ``"1.2e-09 n_params + 0.001 1"``."""
        return " + ".join(f"{value:.4g} {term}" for value, term in zip(self.coef, self.terms, strict=True))

    def predict(self, frame: Frame, n_rows: int) -> FloatArray:
        """Costs of the rows of a frame or of columns by name, shape (n_rows,)."""
        return np.asarray(np.maximum(form_matrix(self.terms, frame, n_rows) @ self.coef, LEAST_COST))

    def log_slopes(self, frame: Frame, n_rows: int) -> FloatArray:
        """Derivatives of the logarithm of the cost by the coefficients, shape (n_rows, n_terms)."""
        matrix = form_matrix(self.terms, frame, n_rows)
        return np.asarray(matrix / np.maximum(matrix @ self.coef, LEAST_COST)[:, None])

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


def form_matrix(terms: Sequence[str], frame: Frame, n_rows: int) -> FloatArray:
    """Values of the terms, shape (n_rows, n_terms)."""
    matrix = np.empty((n_rows, len(terms)))
    for place, term in enumerate(terms):
        matrix[:, place] = evaluate(parse(term), frame)
    return matrix


def fit_needed_terms(terms: Sequence[str], frame: Frame, y: FloatArray) -> CostForm | None:
    """`fit_form` of the terms whose coefficients are above zero when all are offered; None where those do not stand."""
    relative = form_matrix(terms, frame, len(y)) / y[:, None]
    scale = np.sqrt((relative * relative).sum(axis=0))
    offered = scale > 0.0
    found = np.zeros(len(terms))
    found[offered] = nnls(relative[:, offered] / scale[offered], np.ones(len(y)))[0]
    return fit_form([term for term, value in zip(terms, found, strict=True) if value > 0.0], frame, y) if found.any() else None


def fit_form(terms: Sequence[str], frame: Frame, y: FloatArray) -> CostForm | None:
    """Least squares of relative errors with coefficients >= 0; None where the form does not stand.

    It does not where a term is not needed or not told from another, and where a cost is not above zero.

    Parameters
    ----------
    terms : sequence of str
        At least one.
    frame : DataFrame or mapping of str to array
        Columns of the terms, each of shape (n_rows,).
    y : array, shape (n_rows,)
        Times > 0.
    """
    if len(terms) > len(y):
        return None
    matrix = form_matrix(terms, frame, len(y)) / y[:, None]
    scale = np.sqrt((matrix * matrix).sum(axis=0))
    if not (np.isfinite(scale).all() and (scale > 0.0).all()):
        return None
    relative = matrix / scale
    if len(terms) == 1:
        # Its square is 1. Most forms that compete have one term, and a solver takes ten times as long to say so.
        found = relative.sum(axis=0)
    elif np.linalg.matrix_rank(relative) < len(terms):
        return None
    else:
        found = nnls(relative, np.ones(len(y)))[0]
    if (found <= 0.0).any() or (relative @ found <= 0.0).any():
        return None
    inverse = np.linalg.inv(relative.T @ relative)
    return CostForm(tuple(terms), found / scale, -np.log(relative @ found), inverse / np.outer(scale, scale))
