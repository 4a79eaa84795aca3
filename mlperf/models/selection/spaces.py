"""Models made of groups of columns of one triangle, with scope and marginality."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.models.algebra.triangle import Triangle
from mlperf.models.selection.active import Active, Scores
from mlperf.models.selection.criteria import Criterion
from mlperf.models.selection.search import Base, Selection, search

Key = frozenset[str]


def droppable(current: Sequence[Key], lower: Collection[Key]) -> list[int]:
    """Positions of terms that may leave: not in ``lower`` and contained in no other term that could leave.

    Parameters
    ----------
    current : sequence of frozenset
        The variables of each term of the model, in its order.
    lower : collection of frozenset
        Terms that must stay.
    """
    free = [position for position, key in enumerate(current) if key not in lower]
    if all(len(current[position]) == 1 for position in free):
        return free
    return [i for i in free if not any(current[i] < current[j] for j in free)]


def addable(current: Collection[Key], upper: Sequence[Key]) -> list[int]:
    """Positions in ``upper`` of terms that may enter: no absent term of ``upper`` is contained in them."""
    present = set(current)
    absent = [position for position, key in enumerate(upper) if key not in present]
    if all(len(upper[position]) == 1 for position in absent):
        return absent
    return [i for i in absent if not any(upper[j] < upper[i] for j in absent)]


class TriangleSpace:
    """A search space whose terms are fixed groups of columns of one triangle.

    Parameters
    ----------
    triangle : Triangle
    groups : sequence of array of int
        Columns of each term; the term's id is its position.
    keys : sequence of frozenset of str, optional
        Variables of each term, for marginality; default every term a main effect of its own.
    lower : collection of int
        Terms that stay.
    upper : sequence of int, optional
        Terms that may enter; default none.
    start : sequence of int, optional
        Terms of the first model; default all.
    tol : float
        Of the rule for aliasing.
    """

    def __init__(
        self,
        triangle: Triangle,
        groups: Sequence[IntArray],
        keys: Sequence[frozenset[str]] | None = None,
        lower: Collection[int] = (),
        upper: Sequence[int] | None = None,
        start: Sequence[int] | None = None,
        tol: float = 1e-7,
    ) -> None:
        self.triangle = triangle
        self.groups = list(groups)
        self.keys = list(keys) if keys is not None else [frozenset([str(number)]) for number in range(len(groups))]
        self.main_effects = all(len(key) == 1 for key in self.keys)
        self.lower = {self.keys[term] for term in lower}
        self.upper = list(range(len(self.groups)) if upper is None else upper)
        self.tol = tol
        self.terms = list(range(len(self.groups)) if start is None else start)
        self.active = self._make()

    def _make(self) -> Active:
        return Active(self.triangle, [self.groups[term] for term in self.terms], self.tol)

    @property
    def model(self) -> tuple[int, ...]:
        """Ids of the terms of the current model, in order."""
        return tuple(self.terms)

    def base(self) -> Base:
        """The model from which the next step starts."""
        return Base(self.active.rank, self.active.rss, self.triangle.n_samples, self.triangle.n_weighted)

    def drops(self) -> tuple[IntArray, Scores] | None:
        """Terms that may leave."""
        if self.main_effects and not self.lower:
            return (np.array(self.terms, dtype=np.int64), self.active.drop_scores()) if self.terms else None
        places = np.array(droppable([self.keys[term] for term in self.terms], self.lower), dtype=np.int64)
        if len(places) == 0:
            return None
        return np.array(self.terms, dtype=np.int64)[places], self.active.drop_scores(places)

    def adds(self) -> tuple[IntArray, Scores, Base] | None:
        """Terms that may enter."""
        places = addable([self.keys[term] for term in self.terms], [self.keys[term] for term in self.upper])
        if not places:
            return None
        ids = [self.upper[place] for place in places]
        return np.array(ids, dtype=np.int64), self.active.add_scores([self.groups[term] for term in ids]), self.base()

    def move(self, sign: int, term: int) -> None:
        """Drop or add a term; an added one goes to the end of its interaction order."""
        if sign < 0:
            place = self.terms.index(term)
            self.active.drop(place)
            del self.terms[place]
            return
        order = len(self.keys[term])
        place = sum(len(self.keys[other]) <= order for other in self.terms)
        self.terms.insert(place, term)
        self.active = self._make()


def column_groups(assign: IntArray) -> list[IntArray]:
    """Columns of each term from R's ``assign`` (0 the constant, else the term's number from 1)."""
    assign = np.asarray(assign)
    order = np.argsort(assign, kind="stable")
    ends = np.searchsorted(assign[order], np.arange(1, int(assign.max(initial=0)) + 2))
    return [order[start:end] for start, end in itertools.pairwise(ends.tolist())]


def select(
    triangle: Triangle,
    assign: IntArray,
    criterion: Criterion | None = None,
    direction: str = "backward",
    *,
    keys: Sequence[frozenset[str]] | None = None,
    lower: Collection[int] = (),
    start: Sequence[int] | None = None,
    max_steps: int = 1000,
    tol: float = 1e-7,
) -> Selection:
    """Stepwise selection from a triangle alone.

    Parameters
    ----------
    triangle : Triangle
    assign : array of int, shape (n_columns,)
        Term of each column of the triangle, 0 for the constant (see ``Terms.columns``).
    criterion : Criterion, optional
        Default AIC.
    direction : {"backward", "forward", "both"}
    keys : sequence of frozenset, optional
        Variables of each term, for marginality.
    lower, start : of int, optional
        Ids of terms (numbers in ``assign`` minus 1) that stay, and that the search starts from; default none and, unless
        forward, all.
    max_steps : int
    tol : float

    Returns
    -------
    Selection
        With the RSS, rank and criterion of every candidate at every step.
    """
    groups = column_groups(assign)
    if start is None:
        start = list(lower) if direction == "forward" else None
    space = TriangleSpace(triangle, groups, keys, lower, None, start, tol)
    return search(space, criterion or default_criterion(triangle), direction, max_steps)


def default_criterion(triangle: Triangle, name: str = "aic", k: float = 2.0) -> Criterion:
    """A criterion with the perfect-fit floor and total sum of squares of a triangle."""
    return Criterion(
        name, k=k, floor=perfect_floor(triangle), tss=triangle.tss * triangle.rss_unit, n_constant=int(triangle.intercept)
    )


def perfect_floor(triangle: Triangle) -> float:
    """RSS that counts as a perfect fit: 1e-24 of the total sum of squares, or what rounding leaves of y itself."""
    raw = float(triangle.norms[-1]) ** 2
    return max(1e-24 * triangle.tss, 1e-30 * raw, 1e-300) * triangle.rss_unit
