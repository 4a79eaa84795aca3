"""How much a row of the design pulls on a fit: leverage against the training rows, from one small triangle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mlperf.core.arrays import FloatArray, rounded
from mlperf.core.json_fields import Fields
from mlperf.models.algebra.fixed_order import squared_length_fixed_order

MAX_ROWS = 20_000
ALIAS_TOLERANCE = 1e-6
SIGNIFICANT_DIGITS = 6
ROUNDING_SLACK = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Leverage:
    """Metric of the training design and the largest leverage that still counts as inside.

    Attributes
    ----------
    kept : tuple of int
        Columns of the design that are no sum of earlier ones.
    factor : array, shape (n_kept, n_kept)
        Inverse of the triangle of the scaled columns, six digits: leverage of x is ||x[kept] @ factor||**2.
    limit : float
        max(largest leverage of a training row, 3 p / n).
    n_samples : int
        Training rows n.
    constant : bool
        Whether the design holds a constant, i.e. whether distances are taken from the mean.

    References
    ----------
    Belsley, Kuh and Welsch (1980), section 2.1 (leverage, cut-off as a multiple of p / n).
    """

    kept: tuple[int, ...]
    factor: FloatArray
    limit: float
    n_samples: int
    constant: bool

    @classmethod
    def fit(cls, design: FloatArray) -> Leverage | None:
        """Metric of the rows of ``design``, shape (n_samples, n_columns); every so-many-th row where there are over 20,000."""
        rows = design[:: max(1, -(-len(design) // MAX_ROWS))]
        norms = np.sqrt(np.einsum("ij,ij->j", rows, rows))
        scale = np.where(norms > 0.0, norms, 1.0)
        scaled = rows / scale
        kept = np.flatnonzero(norms > 0.0)
        triangle = _triangle(scaled[:, kept])
        # With fewer rows than columns the triangle is short: the columns it does not reach are sums of the others.
        independent = np.zeros(len(kept), dtype=np.bool_)
        independent[: len(triangle)] = np.abs(np.diag(triangle)) > ALIAS_TOLERANCE
        kept = kept[independent]
        if kept.size == 0:
            return None
        if not independent.all():
            triangle = _triangle(scaled[:, kept])
        inverse = solve_triangular(triangle, np.eye(len(kept)))
        factor = rounded(inverse / scale[kept, None] * np.sqrt(len(rows) / len(design)), SIGNIFICANT_DIGITS)
        leverage = np.square(rows[:, kept] @ factor).sum(axis=1)
        limit = max(float(leverage.max()) * (1.0 + ROUNDING_SLACK), 3.0 * len(kept) / len(design))
        return cls(tuple(map(int, kept)), factor, limit, len(design), bool((np.ptp(rows[:, kept], axis=0) == 0.0).any()))

    def of(self, design: FloatArray) -> FloatArray:
        """Leverage h(x) = x' (X'X)^-1 x of each row, shape (n_rows,); summed without BLAS, so it never depends on threads."""
        return squared_length_fixed_order(design[:, list(self.kept)], self.factor)

    def distance(self, leverage: FloatArray) -> FloatArray:
        """Mahalanobis distance from the training mean in the scaled terms, in standard deviations."""
        if self.constant:
            return np.sqrt(np.maximum((self.n_samples - 1) * (leverage - 1.0 / self.n_samples), 0.0))
        return np.sqrt(self.n_samples * leverage)

    def to_dict(self) -> dict[str, Any]:
        """The metric as JSON types, the triangle's upper half row by row."""
        return {
            "kept": list(self.kept),
            "factor": self.factor[np.triu_indices(len(self.kept))].tolist(),
            "limit": self.limit,
            "n_samples": self.n_samples,
            "constant": self.constant,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Leverage:
        """The metric that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            kept = fields.integers("kept")
            upper = fields.numbers("factor", len(kept) * (len(kept) + 1) // 2)
            factor = np.zeros((len(kept), len(kept)))
            factor[np.triu_indices(len(kept))] = upper
            limit, n_samples = fields.number("limit", lower=0.0), fields.integer("n_samples", lower=1)
            return cls(kept, factor, limit, n_samples, fields.boolean("constant"))


def _triangle(scaled: FloatArray) -> FloatArray:
    """Triangle of columns of norm one: Cholesky where the condition allows it, else QR."""
    try:
        triangle = np.asarray(np.linalg.cholesky(scaled.T @ scaled).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.qr(scaled, mode="r"))
    if scaled.shape[1] and np.diag(triangle).min() < 1e-3:
        return np.asarray(np.linalg.qr(scaled, mode="r"))
    return triangle
