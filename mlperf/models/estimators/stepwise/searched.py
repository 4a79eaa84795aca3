"""A finished search and how R prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from mlperf.models.formula.expressions import Expression, lines, parse, text
from mlperf.models.formula.formula import Formula, Term
from mlperf.models.selection.labels import model_labels
from mlperf.models.selection.search import Selection
from mlperf.models.selection.trace import path_frame, trace_frame, trace_text


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
