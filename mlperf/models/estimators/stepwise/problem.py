"""What a stepwise search is asked: response, weights, offset, terms and scope, resolved against a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mlperf.core.arrays import LARGEST, BoolArray, FloatArray
from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.models.formula.evaluate import Frame
from mlperf.models.formula.expressions import Expression, parse
from mlperf.models.formula.formula import Formula, Term, ordered_terms, parse_formula, parse_term
from mlperf.models.formula.terms import Terms
from mlperf.models.selection.workspace import Workspace

# A scope: a formula ("~ a + b"), a list of terms, or nothing said.
Scope: TypeAlias = str | Sequence[str] | None


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A search whose formula, bounds and criterion are resolved.

    Parameters
    ----------
    workspace : Workspace
    learned : Terms
        All terms with their learned variables.
    terms : tuple of Term
        Terms of the start, then those that only the upper scope has; ids are positions.
    start, lower, upper : tuple of int
    direction : {"backward", "forward", "both"}
    mask : array of bool, shape (n_samples,)
        Rows of the first model.
    """

    workspace: Workspace
    learned: Terms
    terms: tuple[Term, ...]
    start: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    direction: str
    mask: BoolArray


def scope_terms(scope: Scope, columns: Sequence[str], dot: Expression | None = None) -> tuple[Term, ...]:
    """Terms of a scope: a formula with or without ``~``, or a list of terms.

    Parameters
    ----------
    scope : str or sequence of str
    columns : sequence of str
        What ``.`` stands for where ``dot`` is not given.
    dot : Expression, optional
        Right side of the formula that ``.`` repeats.
    """
    if scope is None:
        return ()
    if isinstance(scope, str):
        return parse_formula(scope, columns, dot).terms
    return ordered_terms(parse_term(entry) for entry in scope)


def resolve_direction(direction: str | None, *, scoped: bool) -> str:
    """R's rule for ``None``: backward without a scope, both with one."""
    if direction is None:
        return "both" if scoped else "backward"
    if direction not in ("backward", "forward", "both"):
        raise UsageError(f"got direction {direction!r}, expected backward, forward, both or None")
    return direction


def make_problem(
    frame: Frame,
    y: FloatArray,
    weights: FloatArray | None,
    base: Sequence[Term],
    *,
    start: Sequence[Term] | None,
    lower: Sequence[Term],
    upper: Sequence[Term] | None,
    direction: str,
    intercept: bool,
    na: str = "raise",
) -> Problem:
    """Resolve terms and scope and read every variable once.

    Without ``start`` the search starts from ``base``, except forward without ``upper``: then ``base`` is the upper scope
    and the start is ``lower``.

    Parameters
    ----------
    frame : DataFrame or mapping of columns
    y : array, shape (n_samples,)
        Response minus offset; NaN where missing.
    weights : array, shape (n_samples,), optional
    base : sequence of Term
    start, upper : sequence of Term, optional
    lower : sequence of Term
    direction : {"backward", "forward", "both"}
    intercept : bool
    na : {"raise", "drop"}

    Raises
    ------
    DataError
        Missing values under ``na="raise"``, naming row and column; negative or missing weights.
    UsageError
        A lower scope outside the start, a start outside the upper scope.
    """
    if upper is None:
        # A scope with a lower part only lets nothing enter: R's rule.
        upper = () if direction == "both" and lower else base
        first = lower if direction == "forward" else base
    else:
        first = base
    first = start if start is not None else first
    # R reads the upper scope twice, so that its labels follow the simplified formula.
    terms = _distinct([*first, *(ordered_terms(upper) if direction != "backward" else ()), *lower])
    learned = Terms.learn(terms, frame, intercept=intercept)
    values = learned.read(frame)
    available = _available(y, weights, na)
    workspace = Workspace(learned.variables, values, y, weights, intercept, available)
    if na == "raise":
        _refuse_missing(workspace, terms)
    mask = workspace.complete(first)
    used = learned.on_rows(values, mask) if any(variable.is_factor for variable in learned.variables.values()) else learned
    if used.variables != learned.variables:
        learned = used
        workspace = Workspace(learned.variables, learned.read_lenient(frame), y, weights, intercept, available)
    if not mask.any():
        raise FitError("got no row without missing values, expected at least one")
    ids = {term.key: number for number, term in enumerate(terms)}
    return Problem(
        workspace,
        learned,
        tuple(terms),
        tuple(ids[term.key] for term in first),
        _lower_ids(lower, first, ids),
        _upper_ids(upper, first, ids, direction),
        direction,
        mask,
    )


def _distinct(terms: Sequence[Term]) -> list[Term]:
    found: dict[frozenset[str], Term] = {}
    for term in terms:
        found.setdefault(term.key, term)
    return list(found.values())


def _available(y: FloatArray, weights: FloatArray | None, na: str) -> BoolArray:
    if na not in ("raise", "drop"):
        raise UsageError(f"got na={na!r}, expected 'raise' or 'drop'")
    available: BoolArray = ~np.isnan(y)
    if weights is not None:
        if (weights < 0).any():
            raise DataError(
                f"got {float(weights[weights < 0][0])!r}, expected weights >= 0",
                place=f"row {int(np.flatnonzero(weights < 0)[0]) + 1}",
            )
        available = available & ~np.isnan(weights)
    if (np.abs(y[available]) > LARGEST).any():
        row = int(np.flatnonzero(available & (np.abs(y) > LARGEST))[0])
        got = f"got {float(y[row]):g}, expected values of y up to {LARGEST:g}"
        raise DataError(got, place=f"y, row {row + 1}", hint="A fit counts with their squares: choose another unit.")
    if na == "raise" and not available.all():
        raise DataError(
            "got a missing value, expected a number", place=f"row {int(np.flatnonzero(~available)[0]) + 1}, response or weight"
        )
    return available


def _refuse_missing(workspace: Workspace, terms: Sequence[Term]) -> None:
    place = workspace.missing_place(terms)
    if place is not None:
        raise DataError(
            "got a missing value, expected a number or level",
            place=f"row {place[0] + 1}, column {place[1]}",
            hint="Use na='drop' to leave out rows with missing values, as R's na.omit does.",
        )


def _lower_ids(lower: Sequence[Term], start: Sequence[Term], ids: dict[frozenset[str], int]) -> tuple[int, ...]:
    present = {term.key for term in start}
    outside = [term.name for term in lower if term.key not in present]
    if outside:
        raise UsageError(f"got {', '.join(outside)} in the lower scope, expected only terms of the first model")
    return tuple(ids[term.key] for term in lower)


def _upper_ids(upper: Sequence[Term], start: Sequence[Term], ids: dict[frozenset[str], int], direction: str) -> tuple[int, ...]:
    if direction == "backward" or not upper:
        return ()
    present = {term.key for term in upper}
    outside = [term.name for term in start if term.key not in present]
    if outside:
        raise UsageError(f"got {', '.join(outside)} in the first model, expected only terms of the upper scope")
    return tuple(ids[term.key] for term in upper)


@dataclass(frozen=True, slots=True)
class ResolvedScope:
    """Terms of the scope; None where nothing was said."""

    start: tuple[Term, ...] | None
    lower: tuple[Term, ...]
    upper: tuple[Term, ...] | None
    scoped: bool

    def all_terms(self) -> tuple[Term, ...]:
        """Every term named."""
        return (*(self.start or ()), *self.lower, *(self.upper or ()))


@dataclass(frozen=True, slots=True)
class Settings:
    """The estimator's parameters that decide a search."""

    lower: Scope
    upper: Scope
    start: Scope
    direction: str | None
    criterion: str
    k: float | None
    scale: float
    alpha_enter: float
    alpha_remove: float
    noise: str
    max_steps: int
    tol: float
    na: str
    saturated: str
    report: str | Sequence[str]
    ordered: bool

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Parameters of a ``StepwiseOLS``."""
        return cls(**{name: getattr(estimator, name) for name in cls.__slots__})

    def scope(self, formula: Formula, columns: Sequence[str]) -> ResolvedScope:
        """Scope as terms; ``.`` repeats the formula."""
        dot = _sum_of(formula.terms)
        upper = None if self.upper is None else scope_terms(self.upper, columns, dot)
        start = None if self.start is None else scope_terms(self.start, columns, dot)
        scoped = self.lower is not None or self.upper is not None
        return ResolvedScope(start, scope_terms(self.lower, columns, dot), upper, scoped)

    def penalty(self, n: int) -> float:
        """``k``, or what the criterion has by default."""
        if self.k is not None:
            return float(self.k)
        return float(np.log(n)) if self.criterion == "bic" else 2.0


def _sum_of(terms: Sequence[Term]) -> Expression:
    return parse(" + ".join(term.name for term in terms) or "1")
