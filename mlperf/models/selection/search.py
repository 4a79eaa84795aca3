"""The stepwise search: which term goes or comes next, when to stop, and everything that was looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.models.selection.active import Scores
from mlperf.models.selection.criteria import Criterion, partial_f_p

# R's step stops where a refit is not at least this much better, in units of the criterion.
STOP_TOLERANCE = 1e-7
# Criteria closer than this share of their size are a tie.
TIE = 1e-12


class Base(NamedTuple):
    """The model that a table's candidates are compared with.

    rank : number of parameters; rss : in squares of the weighted response; n : rows, those of weight zero included;
    n_weighted : rows of positive weight.
    """

    rank: int
    rss: float
    n: int
    n_weighted: int


class Space(Protocol):
    """A current model that can be asked for its neighbours and moved to one of them."""

    @property
    def model(self) -> tuple[int, ...]:
        """Ids of the terms of the current model, in the order of its formula."""

    def base(self) -> Base:
        """The model from which the next step starts."""

    def drops(self) -> tuple[IntArray, Scores] | None:
        """Ids and scores of terms that may leave, in model order; None where there are none."""

    def adds(self) -> tuple[IntArray, Scores, Base] | None:
        """Ids and scores of terms that may enter, in the order of the upper scope, and the model on the same rows."""

    def move(self, sign: int, term: int) -> None:
        """Drop (-1) or add (+1) a term."""


class Table(NamedTuple):
    """One table of candidates (R's ``drop1`` and ``add1``).

    Parameters
    ----------
    model : tuple of int
        Term ids of the model looked at, in order.
    base : Base
    base_value : float
        Criterion of that model on the tables' scale (edf = rank).
    signs : array of int, shape (n_candidates,)
        -1 for a drop, +1 for an add.
    terms, df : array of int, shape (n_candidates,)
        Ids, and change of rank (positive for drops and adds alike).
    rss, values : array, shape (n_candidates,)
        RSS and criterion afterwards.
    from_rss : float or array, shape (n_candidates,)
        RSS of the model that each candidate starts from.
    taken : int
        Candidate that was taken; -1 where the search stopped.
    shown : bool
        False where an aliased term left without comparison.
    """

    model: tuple[int, ...]
    base: Base
    base_value: float
    signs: IntArray
    terms: IntArray
    df: IntArray
    rss: FloatArray
    values: FloatArray
    from_rss: FloatArray | float
    taken: int
    shown: bool

    @property
    def sum_sq(self) -> FloatArray:
        """How much the RSS changes, counted positive where it must, shape (n_candidates,)."""
        return np.asarray(self.signs * (self.from_rss - self.rss))


class Point(NamedTuple):
    """A model on the path: how it came about and its fit; ``edf`` is R's n - df_resid."""

    sign: int
    term: int
    rss: float
    edf: int
    value: float
    n_weighted: int
    model: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Everything a search did.

    Parameters
    ----------
    tables : tuple of Table
    path : tuple of Point
        The first is the start.
    refits : tuple of Point
        Like the path, with the last refit also where it did not improve (R returns that model).
    criterion : Criterion
    direction : {"backward", "forward", "both"}
    n_candidates : int
        Models compared; terms that left for being aliased were not.
    """

    tables: tuple[Table, ...]
    path: tuple[Point, ...]
    refits: tuple[Point, ...]
    criterion: Criterion
    direction: str
    n_candidates: int


def search(space: Space, criterion: Criterion, direction: str, max_steps: int = 1000, max_rank: int | None = None) -> Selection:
    """Walk from the space's model to a model none of whose neighbours is better.

    Candidates stand in the order ``<none>``, drops, adds; the first smallest value wins, so staying wins ties. A drop that
    does not change the rank is taken at once, the last such term first.

    Parameters
    ----------
    space : Space
        Moved in place to the final model.
    criterion : Criterion
    direction : {"backward", "forward", "both"}
    max_steps : int
    max_rank : int, optional
        Adds that would reach this rank are never taken; default the number of rows.

    Raises
    ------
    FitError
        Where the start fits perfectly for want of residual degrees of freedom (R: "AIC is -infinity").
    """
    walk = _Walk(space, criterion, direction, max_rank)
    walk.begin()
    for _ in range(max_steps):
        if not walk.step():
            break
    return Selection(tuple(walk.tables), tuple(walk.path), tuple(walk.refits), criterion, direction, walk.n_candidates)


class _Candidates(NamedTuple):
    """Columns of a table in the making, see ``Table``; ``all_single`` says that every candidate changes the rank by one."""

    signs: IntArray
    terms: IntArray
    df: IntArray
    rss: FloatArray
    values: FloatArray
    from_rss: FloatArray | float
    all_single: bool


def _joined(parts: Sequence[_Candidates]) -> _Candidates:
    signs, terms, df, rss, values = (np.concatenate(columns) for columns in list(zip(*parts, strict=True))[:5])
    from_rss = np.concatenate([np.full(len(part.terms), part.from_rss) for part in parts])
    return _Candidates(signs, terms, df, rss, values, from_rss, all_single=False)


@lru_cache(maxsize=256)
def _signs(sign: int, n: int) -> IntArray:
    return np.full(n, sign)


class _Walk:
    def __init__(self, space: Space, criterion: Criterion, direction: str, max_rank: int | None) -> None:
        self.space = space
        self.criterion = criterion
        self.direction = direction
        self.max_rank = max_rank
        self.backward = direction != "forward"
        self.forward = direction != "backward"
        self.tables: list[Table] = []
        self.path: list[Point] = []
        self.refits: list[Point] = []
        self.n_candidates = 0
        self.base = space.base()

    def begin(self) -> None:
        base = self.space.base()
        if base.n_weighted <= base.rank:
            raise FitError(
                "AIC is -infinity for this model, so 'step' cannot proceed",
                hint="The model has as many parameters as rows: start from fewer terms, or use saturated='forward'.",
            )
        self.record(0, -1)

    def record(self, sign: int, term: int) -> Point:
        base = self.base = self.space.base()
        edf = base.n - base.n_weighted + base.rank
        value = self.criterion.value(base.rss, edf, base.n) if self.criterion.name != "p_value" else self.p_of_move(sign)
        point = Point(sign, term, base.rss, edf, value, base.n_weighted, self.space.model)
        self.refits.append(point)
        if sign == 0:
            self.path.append(point)
        return point

    def p_of_move(self, sign: int) -> float:
        """p-value of the term that just moved; NaN for the start and for an aliased term."""
        table = self.tables[-1] if sign and self.tables else None
        return float(table.values[table.taken]) if table is not None and table.shown else float("nan")

    def step(self) -> bool:
        chosen = self.choose()
        if chosen is None:
            return False
        old = self.refits[-1].value
        self.space.move(*chosen)
        point = self.record(*chosen)
        if self.criterion.name != "p_value" and point.value >= old + STOP_TOLERANCE:
            return False
        self.path.append(point)
        return True

    def choose(self) -> tuple[int, int] | None:
        drops = self.space.drops() if self.backward else None
        if drops is not None and not drops[1].all_single and not drops[1].df.all():
            free = np.flatnonzero(drops[1].df == 0)
            self.keep(self.base, drops, None, int(free[-1]), shown=False)
            return -1, int(drops[0][free[-1]])
        if self.criterion.name == "p_value":
            return self.choose_by_p(drops)
        adds = self.space.adds() if self.forward else None
        if drops is None and adds is None:
            return None
        base = self.base if drops is not None or adds is None else adds[2]
        return self.keep(base, drops, adds, None)

    def keep(
        self,
        base: Base,
        drops: tuple[IntArray, Scores] | None,
        adds: tuple[IntArray, Scores, Base] | None,
        taken: int | None,
        *,
        shown: bool = True,
    ) -> tuple[int, int] | None:
        """Record the table of all candidates; return the move that it leads to, None for staying."""
        parts = [] if drops is None else [self.candidates(-1, *drops, base)]
        if adds is not None:
            parts.append(self.candidates(1, *adds))
        found = parts[0] if len(parts) == 1 else _joined(parts)
        stay = self.criterion.value(base.rss, base.rank, base.n)
        best = self.best(stay, found) if taken is None else taken
        self.tables.append(Table(self.space.model, base, stay, *found[:6], best, shown))
        self.n_candidates += len(found.terms) if shown else 0
        return None if best < 0 else (int(found.signs[best]), int(found.terms[best]))

    def candidates(self, sign: int, terms: IntArray, scores: Scores, base: Base) -> _Candidates:
        return _Candidates(
            _signs(sign, len(terms)), terms, scores.df, scores.rss, self.values(sign, scores, base), base.rss, scores.all_single
        )

    def values(self, sign: int, scores: Scores, base: Base) -> FloatArray:
        """Criterion of candidates; one that would leave no residual degree of freedom is never best."""
        values = self.criterion.values(scores.rss, base.rank + (sign if scores.all_single else sign * scores.df), base.n)
        if sign < 0:
            return values
        limit = base.n_weighted if self.max_rank is None else self.max_rank
        return np.where(base.rank + scores.df < limit, values, np.inf)

    def best(self, stay: float, found: _Candidates) -> int:
        """Position of the best candidate, -1 for staying."""
        if len(found.values) == 0:
            return -1
        moving = found.values if found.all_single else np.where(found.df == 0, np.inf, found.values)
        place = int(moving.argmin())
        smallest = float(moving[place])
        if math.isinf(smallest):
            # AICc has no value yet for so many parameters: lose the least until it has.
            return int(np.where(found.df > 0, found.rss, np.inf).argmin()) if stay == math.inf else -1
        # Equal columns reach equal values up to rounding: the first of them wins, as it does where they are bit-equal.
        place = int((moving <= smallest + TIE * (abs(smallest) + self.base.n)).argmax())
        return place if moving[place] < stay else -1

    def choose_by_p(self, drops: tuple[IntArray, Scores] | None) -> tuple[int, int] | None:
        base = self.space.base()
        if drops is not None:
            p = partial_f_p(drops[1].rss, np.array(base.rss), drops[1].df, base.n_weighted - base.rank)
            worst = int(np.argmax(p))
            leaves = bool(p[worst] > self.criterion.alpha_remove)
            self.keep_p(base, -1, drops[0], drops[1], p, worst if leaves else -1)
            if leaves:
                return -1, int(drops[0][worst])
        adds = self.space.adds() if self.forward else None
        if adds is None:
            return None
        ids, scores, at = adds
        p = partial_f_p(np.array(at.rss), scores.rss, scores.df, np.maximum(at.n_weighted - at.rank - scores.df, 0))
        p = np.where(np.isnan(p), np.inf, p)
        best = int(np.argmin(p))
        enters = bool(p[best] < self.criterion.alpha_enter)
        self.keep_p(at, 1, ids, scores, p, best if enters else -1)
        return (1, int(ids[best])) if enters else None

    def keep_p(self, base: Base, sign: int, ids: IntArray, scores: Scores, p: FloatArray, taken: int) -> None:
        self.tables.append(
            Table(
                self.space.model,
                base,
                float("nan"),
                np.full(len(ids), sign),
                ids,
                scores.df,
                scores.rss,
                p,
                base.rss,
                taken,
                shown=True,
            )
        )
        self.n_candidates += len(ids)
