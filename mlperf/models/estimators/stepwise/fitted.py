"""What a fitted stepwise model keeps: final terms, coefficients with their errors, report, domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.models.estimators.stepwise.searched import SearchOutcome
from mlperf.models.formula.evaluate import Frame, evaluate, raw_column
from mlperf.models.formula.expressions import Expression, names, parse
from mlperf.models.formula.terms import Terms
from mlperf.models.inference.report import FitReport
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.spread import Spread


@dataclass(frozen=True, slots=True, eq=False)
class FittedTerms:
    """A fitted stepwise model.

    Parameters
    ----------
    terms : Terms
        Of the final model.
    kept : array of int
        Columns of the final model's matrix that are not aliased.
    names : tuple of str
        Of those columns.
    spread : Spread
    report : FitReport
    aliased : tuple of (str, str)
        Aliased columns of the widest model and their relations.
    offsets : tuple of Expression
    searched : SearchOutcome or None
        None after reading from a file.
    rows : (columns by name, row numbers, design) or None
        What the domain is learned from, until it is: the columns that the candidates read, also those of terms that left.
    """

    terms: Terms
    kept: IntArray
    names: tuple[str, ...]
    spread: Spread
    report: FitReport
    aliased: tuple[tuple[str, str], ...]
    offsets: tuple[Expression, ...]
    searched: SearchOutcome | None
    rows: tuple[Mapping[str, Any], IntArray, FloatArray] | None
    _domain: list[Domain] = field(default_factory=list)

    def design(self, frame: Frame, n_samples: int) -> FloatArray:
        """The kept columns of a frame, shape (n_samples, n_kept).

        Raises
        ------
        DataError
            A term that is infinite on some row.
        """
        matrix = self.terms.columns(frame).matrix if self.terms.terms else np.ones((n_samples, int(self.terms.intercept)))
        if np.isinf(matrix).any():
            row = int(np.argwhere(np.isinf(matrix))[0][0])
            raise DataError("got an infinite value of a term, expected a finite number", place=f"row {row}")
        return matrix if len(self.kept) == matrix.shape[1] else matrix[:, self.kept]

    def offset(self, frame: Frame, n_rows: int) -> FloatArray:
        """Sum of the offsets of a frame, shape (n_rows,)."""
        total = np.zeros(n_rows)
        for tree in self.offsets:
            total = total + evaluate(tree, frame)
        return total

    def domain_frame(self, frame: Frame, n_rows: int) -> pd.DataFrame:
        """Columns of a frame that the domain looks at."""
        domain = self.domain()
        read = (*domain.names[: domain.n_columns], *domain.levels)
        return pd.DataFrame({name: np.asarray(raw_column(frame, name)) for name in read}, index=range(n_rows))

    def domain(self) -> Domain:
        """The measured domain, learned on first use."""
        if not self._domain and self.rows is not None:
            columns, numbers, design = self.rows
            frame = pd.DataFrame({name: np.asarray(column)[numbers] for name, column in columns.items()}, index=range(len(numbers)))
            # Values may be missing in columns of terms that left: such a column has no range to speak of.
            known = [name for name in frame if not frame[name].isna().any()]
            self._domain.append(Domain.fit(frame[known], design, self.names))
        return self._domain[0]


def columns_read(terms: Terms, frame: Frame) -> dict[str, Any]:
    """The columns that some terms read, by name, not copied."""
    read = dict.fromkeys(column for variable in terms.variables for column in names(parse(variable)))
    return {name: raw_column(frame, name) for name in read}
