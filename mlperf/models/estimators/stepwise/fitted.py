"""What a fitted stepwise model keeps: final terms, coefficients with their errors, report, domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.models.formula.evaluate import Frame, evaluate, raw_column
from mlperf.models.formula.expressions import Expression, lines, names, parse, text
from mlperf.models.formula.formula import Formula, Term
from mlperf.models.formula.terms import Terms
from mlperf.models.inference.report import FitReport
from mlperf.models.selection.search import Selection
from mlperf.models.selection.trace import model_labels, path_frame, trace_frame, trace_text
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.spread import Spread


@dataclass(frozen=True, slots=True, eq=False)
class SearchOutcome:
    """A finished search with what its printed form needs.

    Parameters
    ----------
    selection : Selection
    terms : tuple of Term
        By id, as the scope names them.
    formula : Formula
    as_written : bool
        Whether the first formula is printed as it was written.
    """

    selection: Selection
    terms: tuple[Term, ...]
    formula: Formula
    as_written: bool
    _labels: list[tuple[list[dict[int, str]], list[tuple[str, ...]]]] = field(default_factory=list)

    def labels(self) -> tuple[list[dict[int, str]], list[tuple[str, ...]]]:
        """Labels in tables and in formulas of every refit, see ``model_labels``; made on first use."""
        if not self._labels:
            ids = {term.key: number for number, term in enumerate(self.terms)}
            start = [self.terms[term] for term in self.selection.path[0].model]
            self._labels.append(model_labels(start, dict(enumerate(self.terms)), ids, self.selection.refits))
        return self._labels[0]

    def lines(self, number: int) -> list[str]:
        """Formula of refit ``number`` as R prints it; the start as it was written."""
        if number == 0 and self.as_written:
            return lines(self.formula.tree)
        return lines(self.model_formula(self.labels()[1][number]))

    def last_formula(self, current: Sequence[Term]) -> str:
        """The formula of the final model on one line; ``current`` are its terms."""
        turned = any(term.order > 1 for term in current)
        return text(self.model_formula(self.labels()[1][-1] if turned else [term.name for term in current]))

    def model_formula(self, labels: Sequence[str]) -> Expression:
        """The formula of some terms in R's simplified form."""
        parts = [*labels, *(f"offset({text(tree)})" for tree in self.formula.offsets)]
        right = " + ".join(parts) or "1"
        left = text(self.formula.response) if self.formula.response is not None else ""
        return parse(f"{left} ~ {right}{'' if self.formula.intercept else ' - 1'}")

    def label(self, number: int, sign: int, term: int) -> str:
        """Label of a candidate of the model of refit ``number``."""
        return self.labels()[0][number][term] if sign < 0 else self.terms[term].name

    def trace(self) -> pd.DataFrame:
        """``trace_``."""
        return trace_frame(self.selection, self.label)

    def path(self) -> pd.DataFrame:
        """``path_``."""
        return path_frame(self.selection, self.label)

    def text(self) -> str:
        """``trace_text_``."""
        return trace_text(self.selection, self.label, self.lines)


class LaterReport:
    """A report that is made when it is first read: nobody reads those of fits in folds. Copies and pickles hold it made.

    Parameters
    ----------
    make : callable
        Returns the report; forgotten, with the rows and the search that it needs, once it has.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], FitReport]) -> None:
        self._make: Callable[[], FitReport] | None = make
        self._made: Any = None

    @classmethod
    def known(cls, report: FitReport) -> Self:
        """One that is made already."""
        found = cls(lambda: report)
        found.report()
        return found

    def report(self) -> FitReport:
        """The report."""
        if self._make is not None:
            self._made, self._make = self._make(), None
        made: FitReport = self._made
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).known, (self.report(),)


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
    told : LaterReport
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
    told: LaterReport
    aliased: tuple[tuple[str, str], ...]
    offsets: tuple[Expression, ...]
    searched: SearchOutcome | None
    rows: tuple[Mapping[str, Any], IntArray, FloatArray] | None
    _domain: list[Domain] = field(default_factory=list)

    @property
    def report(self) -> FitReport:
        """Everything about the fit, made on first use."""
        return self.told.report()

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
            raise DataError("got an infinite value of a term, expected a finite number", place=f"row {row + 1}")
        return matrix if len(self.kept) == matrix.shape[1] else matrix[:, self.kept]

    def offset(self, frame: Frame, n_rows: int) -> FloatArray:
        """Sum of the offsets of a frame, shape (n_rows,)."""
        total = np.zeros(n_rows)
        for tree in self.offsets:
            total = total + evaluate(tree, frame)
        return total

    def domain_frame(self, frame: Frame, n_rows: int) -> pd.DataFrame | dict[str, FloatArray]:
        """Columns of a frame that the domain looks at."""
        domain = self.domain()
        read = domain.names[: domain.n_columns]
        if isinstance(frame, dict) and read and not domain.levels:
            return {name: raw_column(frame, name) for name in read}
        return pd.DataFrame({name: np.asarray(raw_column(frame, name)) for name in (*read, *domain.levels)}, index=range(n_rows))

    def domain(self) -> Domain:
        """The measured domain, learned on first use."""
        if not self._domain and self.rows is not None:
            columns, numbers, design = self.rows
            taken = {name: np.asarray(column)[numbers] for name, column in columns.items()}
            self._domain.append(Domain.fit(_without_gaps(taken, len(numbers)), design, self.names))
        return self._domain[0]


def _without_gaps(columns: Mapping[str, Any], n_rows: int) -> pd.DataFrame | dict[str, FloatArray]:
    """Columns without missing values: one of a term that left may have some, and has no range to speak of.

    Numbers by name; a frame, which takes longer to make than a domain to learn, where there are others.
    """
    if columns and all(values.dtype.kind in "iuf" for values in columns.values()):
        known = {name: values for name, values in columns.items() if not np.isnan(values).any()}
        if known:
            return known
    frame = pd.DataFrame(columns, index=range(n_rows))
    return frame[[name for name in frame if not frame[name].isna().any()]]


def columns_read(terms: Terms, frame: Frame) -> dict[str, Any]:
    """The columns that some terms read, by name, not copied."""
    read = dict.fromkeys(column for variable in terms.variables for column in names(parse(variable)))
    return {name: raw_column(frame, name) for name in read}
