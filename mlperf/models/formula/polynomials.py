"""Orthogonal polynomials: the basis of ``poly(x, d)`` with its recurrence, and the contrasts of ordered factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields

MAX_DEGREE = 1000


@dataclass(frozen=True, slots=True)
class PolynomialBasis:
    """Polynomials that are orthonormal over the values they were learned from.

    ``p_{k+1}(x) = (x - alpha_k) p_k(x) - (norm2_k / norm2_{k-1}) p_{k-1}(x)``; column k is ``p_k / sqrt(norm2_k)``.

    Parameters
    ----------
    alpha : tuple of float
        Recurrence centres, one per degree; empty for raw powers.
    norm2 : tuple of float
        Squared norms of ``p_0 .. p_degree``.
    degree : int

    References
    ----------
    Forsythe (1957), generation and use of orthogonal polynomials for data fitting.
    """

    alpha: tuple[float, ...]
    norm2: tuple[float, ...]
    degree: int

    @classmethod
    def learn(cls, values: FloatArray, degree: int, *, raw: bool = False, place: str = "poly") -> PolynomialBasis:
        """Learn the recurrence.

        Parameters
        ----------
        values : array, shape (n_samples,)
        degree : int
            Below the number of distinct values.
        raw : bool
            Plain powers x, x^2, ... instead.

        Raises
        ------
        DataError
            Missing values, or too few distinct ones.
        """
        if raw:
            return cls((), (), degree)
        if not np.isfinite(values).all():
            raise DataError(
                "got missing values, expected none in poly()",
                place=place,
                hint="Drop those rows first: the basis depends on all values.",
            )
        if degree >= len(np.unique(values)):
            raise DataError(f"got degree {degree}, expected less than the {len(np.unique(values))} distinct values", place=place)
        previous, current = np.zeros_like(values), np.ones_like(values)
        alpha: list[float] = []
        norm2 = [float(len(values))]
        ratio = 0.0
        for _ in range(degree):
            alpha.append(float(values @ current**2) / norm2[-1])
            previous, current = current, (values - alpha[-1]) * current - ratio * previous
            norm2.append(float(current @ current))
            ratio = norm2[-1] / norm2[-2]
        return cls(tuple(alpha), tuple(norm2), degree)

    def columns(self, values: FloatArray) -> FloatArray:
        """The basis at ``values``, shape (n_samples, degree)."""
        if not self.alpha:
            return np.column_stack([values**power for power in range(1, self.degree + 1)])
        previous, current = np.zeros_like(values), np.ones_like(values)
        ratio = 0.0
        columns = []
        for k in range(self.degree):
            previous, current = current, (values - self.alpha[k]) * current - ratio * previous
            ratio = self.norm2[k + 1] / self.norm2[k]
            columns.append(current / np.sqrt(self.norm2[k + 1]))
        return np.column_stack(columns)

    def to_dict(self) -> dict[str, Any]:
        """State as JSON types."""
        return {"alpha": list(self.alpha), "norm2": list(self.norm2), "degree": self.degree}

    @classmethod
    def from_dict(cls, stored: Any, path: str = "$") -> PolynomialBasis:
        """The inverse of ``to_dict``; DataError with the JSON path of what is wrong."""
        with Fields(stored, path) as fields:
            degree = fields.integer("degree", lower=1, upper=MAX_DEGREE)
            alpha, norm2 = fields.numbers("alpha"), fields.numbers("norm2")
            if (len(alpha), len(norm2)) not in ((degree, degree + 1), (0, 0)) or not (norm2 > 0.0).all():
                raise DataError(f"got {len(alpha)} centres and {len(norm2)} norms, expected those of degree {degree}", place=path)
            return cls(tuple(alpha.tolist()), tuple(norm2.tolist()), degree)


def contrast_polynomials(n_levels: int) -> FloatArray:
    """Contrasts of an ordered factor: orthonormal polynomials over 1..n_levels, shape (n_levels, n_levels - 1)."""
    scores = np.arange(1.0, n_levels + 1)
    powers = np.vander((scores - scores.mean()) / n_levels, increasing=True)
    orthogonal, triangle = np.linalg.qr(powers)
    return np.asarray((orthogonal * np.sign(np.diag(triangle)))[:, 1:])


def contrast_names(n_levels: int) -> list[str]:
    """R's names of those columns: ``.L .Q .C ^4 ^5`` and so on."""
    return [".L", ".Q", ".C"][: n_levels - 1] + [f"^{power}" for power in range(4, n_levels)]
