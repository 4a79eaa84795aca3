"""The model with all candidate terms: what a search is judged against, whatever its direction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.models.algebra.aliasing import Relation, SubsetFactor, factor_columns, name_relations
from mlperf.models.algebra.triangle import Triangle
from mlperf.models.estimators.stepwise.problem import Problem
from mlperf.models.formula.terms import codings, term_column_names


@dataclass(frozen=True, slots=True, eq=False)
class WidestModel:
    """Least squares on every term that a search may use.

    Attributes
    ----------
    triangle : Triangle
        Of the rows on which all terms are known.
    columns : array of int, shape (n_columns,)
        Columns of the triangle, the constant first where there is one, terms by interaction order.
    names : tuple of str
        Of all columns of the triangle, empty for those of other codings.
    subset : SubsetFactor
        Their factor by R's rule for aliasing.
    tol : float
        Of that rule.
    """

    triangle: Triangle
    columns: IntArray
    names: tuple[str, ...]
    subset: SubsetFactor
    tol: float

    @classmethod
    def of(cls, problem: Problem, tol: float) -> WidestModel | None:
        """The model with all terms of a problem; None where no row has a value of each."""
        workspace = problem.workspace
        terms = sorted(problem.terms, key=lambda term: term.order)
        mask = workspace.complete(terms)
        if not mask.any():
            return None
        triangle, groups = workspace.place(terms, mask)
        constant = np.zeros(int(workspace.intercept), dtype=np.int64)
        columns = np.concatenate([constant, *groups])
        names = [""] * triangle.n_columns
        names[: len(constant)] = ["(Intercept)"] * len(constant)
        flags = codings(terms, workspace.variables, intercept=workspace.intercept)
        for term, coding, group in zip(terms, flags, groups, strict=True):
            for column, name in zip(group.tolist(), term_column_names(term, coding, workspace.variables), strict=True):
                names[column] = name
        return cls(triangle, columns, tuple(names), factor_columns(triangle, columns, tol), tol)

    @property
    def df_resid(self) -> int:
        """Residual degrees of freedom."""
        return self.triangle.n_weighted - len(self.subset.columns)

    @property
    def variance(self) -> float:
        """Residual variance, squares of the (weighted) response; NaN without residual degrees of freedom."""
        return self.subset.root_rss**2 * self.triangle.rss_unit / self.df_resid if self.df_resid > 0 else float("nan")

    def relations(self, used: Collection[str]) -> tuple[Relation, ...]:
        """Columns that are sums of others, each with its relation to them.

        Of several that stand for each other the last is named, as R does, unless that is one of the columns ``used`` by the final
        model (which a search from below may take first).
        """
        subset = self.subset
        if any(self.names[column] in used for column in subset.aliased.tolist()):
            first = np.array([column == 0 or self.names[column] in used for column in self.columns.tolist()])
            subset = factor_columns(self.triangle, np.concatenate([self.columns[first], self.columns[~first]]), self.tol)
        return name_relations(self.triangle, subset, self.names) if len(subset.aliased) else ()
