"""How unsure fitted costs are, and how much more so a predicted step than those that were measured: leverage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import plain
from mlperf.training.systems.step_fit import relative_squares


@dataclass(frozen=True, slots=True, eq=False)
class CostSpread:
    """Covariance of the costs of every part, in units of the variance of one step's relative error.

    Attributes
    ----------
    covariance : array, shape (n_parts, n_terms, n_terms)
        Of what least squares makes of other errors of the same rows; 0 of terms without a cost.
    leverage : array, shape (n_parts,)
        Mean of a' C a over the rows that were fitted, with the shares a of the terms in a step of their own row.
    """

    covariance: FloatArray
    leverage: FloatArray

    @classmethod
    def of(cls, design: FloatArray, seconds: FloatArray, costs: FloatArray, part: IntArray) -> CostSpread:
        """Of costs of shape (n_parts, n_terms) that were fitted to the rows of their part."""
        found = [_of_part(design[part == number], seconds[part == number], own) for number, own in enumerate(costs)]
        return cls(np.array([covariance for covariance, _ in found]), np.array([leverage for _, leverage in found]))

    def excess(self, design: FloatArray, step_s: FloatArray, part: IntArray) -> FloatArray:
        """How much further than those fitted the leverage of each predicted step lies, shape (n_rows,), at least 0.

        Left-out rows err by their noise and by what the costs are off by at a mean leverage; what costs are off by grows with the
        square root of the leverage, where sizes lie beyond those measured, or terms part that went together.

        Parameters
        ----------
        design : array, shape (n_rows, n_terms)
            In the units of the terms.
        step_s : array, shape (n_rows,)
            Predicted seconds; a step of 0 has no shares.
        part : array of int, shape (n_rows,)
            Number of each row's part.

        References
        ----------
        Hoaglin and Welsch (1978), The Hat Matrix in Regression and ANOVA.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(step_s[:, None] > 0.0, design / step_s[:, None], 0.0)
        own = np.einsum("ij,ijk,ik->i", shares, self.covariance[part], shares)
        return np.asarray(np.maximum(own - self.leverage[part], 0.0))

    def to_dict(self) -> dict[str, Any]:
        """As part of the document of a model."""
        return {"covariance": plain(self.covariance.ravel()), "leverage": plain(self.leverage)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> CostSpread:
        """Again; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            leverage, covariance = fields.numbers("leverage", lower=0.0), fields.numbers("covariance")
        n_parts = len(leverage)
        n_terms = math.isqrt(len(covariance) // max(n_parts, 1))
        if len(covariance) != n_parts * n_terms**2:
            got = f"got {len(covariance)} numbers, expected a square for each of {n_parts} parts"
            raise DataError(got, place=f"{path}.covariance", hint="Train the model again from its table.")
        return cls(covariance.reshape(n_parts, n_terms, n_terms), leverage)


def _of_part(design: FloatArray, seconds: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
    squares = relative_squares(design, seconds)
    kept = np.flatnonzero(costs > 0.0)
    covariance = np.zeros((len(costs), len(costs)))
    size = np.where(squares.size > 0.0, squares.size, 1.0)[kept]
    matrix = squares.matrix[:, kept] / size
    # In units of each term's size: costs lie ten powers of ten apart.
    gram = matrix.T @ matrix
    prior = (squares.noise() * squares.share[kept] / size) ** 2
    inverse = np.linalg.pinv(gram + np.diag(prior), hermitian=True)
    spread = inverse @ gram @ inverse
    covariance[np.ix_(kept, kept)] = spread / np.outer(size, size)
    return covariance, float(np.sum(spread * gram)) / max(squares.n_rows, 1)


def log_half_width(own: float, others: Sequence[FloatArray], excess: FloatArray) -> FloatArray:
    """Of intervals: as wide as left-out rows ask for, or others where those ask for more, and wider by what costs are off by.

    Parameters
    ----------
    own : float
        Bound of the logarithms of left-out rows.
    others : sequence of array, shape (n_rows,)
        Further bounds; NaN where they do not apply.
    excess : array, shape (n_rows,)
        See `CostSpread.excess`.

    Returns
    -------
    array, shape (n_rows,)
        Half widths of the logarithm of a step's time.
    """
    asked = np.full(len(excess), own)
    for each in others:
        asked = np.fmax(asked, each)
    return np.asarray(np.hypot(asked, np.nan_to_num(own) * np.sqrt(excess)))
