"""The search space of a formula: factors recode as their margins leave, rows with missing values follow R's rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.errors import FitError
from mlperf.models.formula.formula import Term
from mlperf.models.selection.active import Active, Scores
from mlperf.models.selection.search import Base
from mlperf.models.selection.spaces import addable, droppable
from mlperf.models.selection.trace import after_add, after_drop
from mlperf.models.selection.workspace import Workspace


class FormulaSpace:
    """A search space over terms of a formula.

    Parameters
    ----------
    workspace : Workspace
    terms : sequence of Term
        All terms of the start and of the scope; ids are positions here.
    start, upper : sequence of int
        Terms of the first model, in order, and terms that may enter.
    lower : sequence of int
        Terms that stay.
    tol : float
        Of the rule for aliasing.
    """

    def __init__(
        self,
        workspace: Workspace,
        terms: Sequence[Term],
        start: Sequence[int],
        upper: Sequence[int],
        lower: Sequence[int],
        tol: float,
    ) -> None:
        self.workspace = workspace
        self.terms = tuple(terms)
        self._ids = {term.key: number for number, term in enumerate(self.terms)}
        self.upper = list(upper)
        self.lower = {self.terms[term].key for term in lower}
        self.tol = tol
        self.ids = list(start)
        self.current = [self.terms[term] for term in self.ids]
        self.mask = workspace.complete(self.current)
        # Numbers without interactions or gaps: no model needs other columns, rows or labels than the first.
        self.plain = all(term.order == 1 for term in self.terms) and workspace.is_plain()
        self.active = self.fresh()

    def fresh(self) -> Active:
        """The current model factored anew from its triangle."""
        return Active(*self.workspace.place(self.current, self.mask), self.tol)

    @property
    def model(self) -> tuple[int, ...]:
        """Ids of the terms of the current model, in order."""
        return tuple(self.ids)

    def base(self) -> Base:
        """The model from which the next step starts."""
        return _base(self.active)

    def drops(self) -> tuple[IntArray, Scores] | None:
        """Terms that may leave, in model order."""
        if self.plain and not self.lower:
            return (np.array(self.ids, dtype=np.int64), self.active.drop_scores()) if self.ids else None
        places = np.array(droppable([term.key for term in self.current], self.lower), dtype=np.int64)
        if len(places) == 0:
            return None
        return np.array(self.ids, dtype=np.int64)[places], self.active.drop_scores(places)

    def adds(self) -> tuple[IntArray, Scores, Base] | None:
        """Terms that may enter, on the rows that the model and all candidates share."""
        places = addable([term.key for term in self.current], [self.terms[term].key for term in self.upper])
        if not places:
            return None
        candidates = [self.upper[place] for place in places]
        union = sorted([*self.current, *(self.terms[term] for term in candidates)], key=lambda term: term.order)
        mask = self.workspace.complete(union)
        triangle, groups = self.workspace.place(union, mask)
        by_key = dict(zip((term.key for term in union), groups, strict=True))
        own = [by_key[term.key] for term in self.current]
        same = triangle is self.active.triangle and all(a is b for a, b in zip(own, self.active.groups, strict=True))
        active = self.active if same else Active(triangle, own, self.tol)
        return (
            np.array(candidates, dtype=np.int64),
            active.add_scores([by_key[self.terms[term].key] for term in candidates]),
            _base(active),
        )

    def move(self, sign: int, term: int) -> None:
        """Drop or add a term.

        Raises
        ------
        FitError
            Where the new model has other rows than the old one.
        """
        if self.plain and sign < 0:
            place = self.ids.index(term)
            del self.ids[place], self.current[place]
            self.active.drop(place)
            return
        key = self.terms[term].key
        place = self.ids.index(term) if sign < 0 else -1
        self.current = after_drop(self.current, key) if sign < 0 else after_add(self.current, self.terms[term])
        self.ids = [self._ids[other.key] for other in self.current]
        mask = self.workspace.complete(self.current)
        if self._n_weighted(mask) != self._n_weighted(self.mask):
            raise FitError(
                "number of rows in use has changed: remove missing values?",
                hint="Values are missing in some terms only; drop those rows (or the terms) before the search.",
            )
        triangle, groups = self.workspace.place(self.current, mask)
        self.mask = mask
        if sign < 0 and triangle is self.active.triangle:
            left = self.active.groups[:place] + self.active.groups[place + 1 :]
            if all(a is b for a, b in zip(groups, left, strict=True)):
                self.active.drop(place)
                return
        self.active = Active(triangle, groups, self.tol)

    def _n_weighted(self, mask: BoolArray) -> int:
        weights = self.workspace.weights
        return int(mask.sum()) if weights is None else int((weights[mask] > 0).sum())


def _base(active: Active) -> Base:
    return Base(active.rank, active.rss, active.triangle.n_samples, active.triangle.n_weighted)
