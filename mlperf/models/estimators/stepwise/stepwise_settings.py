"""What decides a stepwise search: the estimator's parameters and their scope as terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.models.estimators.stepwise.problem import Scope, scope_terms
from mlperf.models.formula.expressions import Expression, parse
from mlperf.models.formula.formula import Formula, Term


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
