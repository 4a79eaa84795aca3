"""The current model in triangle coordinates: coefficients, inverse, RSS; every drop and add scored from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.algebra.aliasing import SubsetFactor, factor_columns, relation_coefficients
from mlperf.models.algebra.blockqr import upper_factor
from mlperf.models.algebra.triangle import Triangle

# After this many downdates, or when one left less than this share of a diagonal element, start afresh from the triangle.
MAX_DOWNDATES = 20
MIN_LEFT = 1e-4
# A column takes part in a relation where its share of the aliased column is above this.
RELATION_SHARE = 1e-9
# What is left of a column must be this many times the limit of aliasing for its term to be free without a second look.
FREE_MARGIN = 10.0
# Share of an aliased column below which what its relation leaves of it is rounding.
EXACT = 1e-13


class Scores(NamedTuple):
    """What every candidate of one kind would lead to.

    Parameters
    ----------
    df : array of int, shape (n_candidates,)
        Change of rank.
    rss : array, shape (n_candidates,)
        Residual sum of squares afterwards, in squares of the weighted response.
    all_single : bool
        Whether every ``df`` is known to be 1.
    """

    df: IntArray
    rss: FloatArray
    all_single: bool = False


class Active:
    """A model with terms as groups of columns of a triangle.

    Parameters
    ----------
    triangle : Triangle
    groups : sequence of array of int
        Columns of each term, the terms in the order of the formula; the constant is not among them.
    tol : float
        Of the rule for aliasing.
    """

    def __init__(self, triangle: Triangle, groups: Sequence[IntArray], tol: float) -> None:
        self.triangle = triangle
        self.rss_unit = triangle.rss_unit
        self.groups = list(groups)
        self.tol = tol
        first = [np.zeros(1, dtype=np.int64)] if triangle.intercept else []
        columns = np.concatenate([*first, *self.groups]) if first or self.groups else np.empty(0, dtype=np.int64)
        self._start(factor_columns(triangle, columns, tol), len(columns))

    def _start(self, subset: SubsetFactor, n_columns: int) -> None:
        constant = int(self.triangle.intercept and len(subset.columns) > 0 and subset.columns[0] == 0)
        self.subset = subset
        self.rank = len(subset.columns)
        self.rss = (subset.root_rss * float(self.triangle.scale[-1])) ** 2
        self.scaled_rss = subset.root_rss**2
        inverse = lapack.dtrtri(subset.factor[constant:, constant:])[0] if self.rank > constant else np.zeros((0, 0))
        self.inverse: FloatArray = inverse @ inverse.T
        self.b: FloatArray = inverse @ subset.side[constant:]
        self.columns: IntArray = subset.columns[constant:]
        self.simple = len(subset.aliased) == 0
        self.n_downdates = 0
        self._diagonal = np.diagonal(self.inverse)
        # No downdate can leave less of a diagonal element than the inverse of its column's inflation factor.
        upper = subset.factor[constant:, constant:]
        self._mild = bool((np.einsum("ij,ij->j", upper, upper) * self._diagonal).max(initial=0.0) * MIN_LEFT < 1.0)
        self._place(n_columns)

    def _place(self, n_columns: int) -> None:
        """Positions of each group's kept columns in the inverse."""
        if self.simple and n_columns - int(self.triangle.intercept) == len(self.groups):
            self.single = True
            self.alive = np.arange(len(self.groups))
            self._ones = np.ones(len(self.groups), dtype=np.int64)
            self.positions: list[IntArray] = []
            return
        self.single = False
        where = {int(column): position for position, column in enumerate(self.columns)}
        self.positions = [np.array([where[int(c)] for c in group if int(c) in where], dtype=np.int64) for group in self.groups]

    def drop_scores(self, candidates: IntArray | None = None) -> Scores:
        """Rank and RSS without each term.

        Parameters
        ----------
        candidates : array of int, optional
            Positions of terms in ``groups``; default all.
        """
        if self.single:
            alive = self.alive if candidates is None else self.alive[candidates]
            b = self.b[alive]
            gain = b * b / self._diagonal[alive]
            gain += self.scaled_rss
            gain *= self.rss_unit
            return Scores(self._ones[: len(alive)], gain, all_single=True)
        chosen = range(len(self.groups)) if candidates is None else candidates.tolist()
        surely_free = self._surely_free()
        pairs = [(0, self.scaled_rss) if group in surely_free else self._drop_score(group) for group in chosen]
        return Scores(np.array([df for df, _ in pairs], dtype=np.int64), np.array([rss for _, rss in pairs]) * self.rss_unit)

    def _drop_score(self, group: int) -> tuple[int, float]:
        positions = self.positions[group]
        if self.simple or not self._in_relation(positions):
            return len(positions), self.scaled_rss + self._gain(positions)
        # Without this term an aliased column may come to life: fit what is left from the triangle.
        rest = self._columns_without(group)
        subset = factor_columns(self.triangle, rest, self.tol)
        return self.rank - len(subset.columns), subset.root_rss**2

    def _surely_free(self) -> set[int]:
        """Terms of one column without which the rank is the same by a wide margin, where every term is one column.

        An aliased column is free, and so is one that an aliased column stands in for: without x, z = c x + ... keeps what is left
        of c x after projection on the other columns.
        """
        if self.simple or not self._plain() or not self._relations_are_exact():
            return set()
        columns = [int(group[0]) for group in self.groups]
        own = np.maximum(self.triangle.norms[self.subset.aliased], np.finfo(np.float64).tiny)
        left = self._relation_shares() * own[:, None] / (self.triangle.norms[self.columns] * np.sqrt(self._diagonal))
        revived = (left > FREE_MARGIN * self.tol * own[:, None]).any(axis=0)
        free = {*self.subset.aliased.tolist(), *self.columns[revived].tolist()}
        return {place for place, column in enumerate(columns) if column in free}

    def _plain(self) -> bool:
        return all(len(group) == 1 for group in self.groups)

    def _relations_are_exact(self) -> bool:
        """Whether aliased columns are sums of the others but for rounding, so that one in place of another changes no RSS."""
        if not hasattr(self, "_exact"):
            triangle, subset = self.triangle, self.subset
            left = triangle.r[:, subset.aliased] - triangle.r[:, subset.columns] @ relation_coefficients(triangle, subset).T
            self._exact = bool((np.abs(left) <= EXACT * triangle.norms[subset.aliased]).all())
        return self._exact

    def _in_relation(self, positions: IntArray) -> bool:
        if len(positions) == 0:
            return False
        return bool(self._relation_shares()[:, positions].max(initial=0.0) > RELATION_SHARE)

    def _relation_shares(self) -> FloatArray:
        if not hasattr(self, "_shares"):
            constant = self.rank - len(self.columns)
            norms = self.triangle.norms
            own = np.maximum(norms[self.subset.aliased], np.finfo(np.float64).tiny)
            relations = relation_coefficients(self.triangle, self.subset)[:, constant:]
            self._shares: FloatArray = np.abs(relations) * norms[self.columns] / own[:, None]
        return self._shares

    def _gain(self, positions: IntArray) -> float:
        if len(positions) == 0:
            return 0.0
        b = self.b[positions]
        if len(positions) == 1:
            return float(b[0] * b[0] / self._diagonal[positions[0]])
        block = self.inverse[np.ix_(positions, positions)]
        return float(b @ np.linalg.solve(block, b))

    def _columns_without(self, group: int) -> IntArray:
        first = [np.zeros(1, dtype=np.int64)] if self.triangle.intercept else []
        rest = [columns for position, columns in enumerate(self.groups) if position != group]
        return np.concatenate([*first, *rest]) if first or rest else np.empty(0, dtype=np.int64)

    def drop(self, group: int) -> None:
        """Take a term out; an O(q^2) downdate where nothing is aliased, a fresh factor otherwise."""
        if not self.simple and self._plain() and self.groups[group][0] == self.subset.aliased[-1]:
            self._forget(group)
            return
        if not self.simple or self.n_downdates >= MAX_DOWNDATES:
            self._afresh(group)
            return
        before = None if self._mild else self._diagonal.copy()
        if self.single:
            positions = self.alive[group : group + 1]
            left = self.alive = np.concatenate([self.alive[:group], self.alive[group + 1 :]])
        else:
            positions = self.positions.pop(group)
            left = np.concatenate([*self.positions, np.empty(0, dtype=np.int64)])
        for position in positions.tolist():
            self._sweep(position)
        if before is not None and (self._diagonal[left] < MIN_LEFT * before[left]).any():
            self._afresh(group)
            return
        del self.groups[group]
        self.n_downdates += 1
        self.rank -= len(positions)
        self.rss = self.scaled_rss * self.rss_unit

    def _forget(self, group: int) -> None:
        """Take out the last aliased column, on which the factor of the others does not depend."""
        del self.groups[group]
        self.subset = replace(self.subset, aliased=self.subset.aliased[:-1])
        self.simple = len(self.subset.aliased) == 0
        if hasattr(self, "_shares"):
            self._shares = self._shares[:-1]
        self._place(len(self.groups) + int(self.triangle.intercept))

    def _sweep(self, position: int) -> None:
        row = self.inverse[position].copy()
        pivot, b = float(row[position]), float(self.b[position])
        self.scaled_rss += b * b / pivot
        column = row / pivot
        self.b -= column * b
        self.inverse -= column[:, None] * row

    def _afresh(self, group: int) -> None:
        Active.__init__(self, self.triangle, self.groups[:group] + self.groups[group + 1 :], self.tol)

    def kept(self) -> IntArray:
        """Columns of the triangle in the model, not aliased, the constant first where there is one."""
        if self.n_downdates == 0:
            return self.subset.columns
        constant = self.subset.columns[: len(self.subset.columns) - len(self.columns)]
        positions = self.alive if self.single else np.concatenate([*self.positions, np.empty(0, dtype=np.int64)])
        return np.concatenate([constant, self.columns[np.sort(positions)]])

    def slopes(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Columns of the triangle in the model without the constant, their scaled coefficients, the inverse of their products."""
        positions = self.alive if self.single else np.sort(np.concatenate([*self.positions, np.empty(0, dtype=np.int64)]))
        return self.columns[positions], self.b[positions], self.inverse[positions[:, None], positions]

    def add_scores(self, candidates: Sequence[IntArray]) -> Scores:
        """Rank gained and RSS with each candidate term added.

        Parameters
        ----------
        candidates : sequence of array of int
            Columns of each candidate term.
        """
        kept = self.kept()
        new = np.concatenate([*candidates, np.empty(0, dtype=np.int64)])
        picked = np.concatenate([kept, new, [self.triangle.n_columns]])
        work = upper_factor(np.asfortranarray(self.triangle.r[:, picked]))
        tails = work[len(kept) :, len(kept) :]
        rss = float(tails[:, -1] @ tails[:, -1])
        at, df, values = 0, [], []
        for columns in candidates:
            block = tails[:, at : at + len(columns)]
            at += len(columns)
            gained, gain = _added(block, tails[:, -1], self.tol * self.triangle.norms[columns])
            df.append(gained)
            values.append(_remaining(rss, gain, block, tails[:, -1], gained))
        return Scores(np.array(df, dtype=np.int64), np.array(values) * self.rss_unit)


def _added(block: FloatArray, response: FloatArray, limits: FloatArray) -> tuple[int, float]:
    """Rank and explained sum of squares of some columns, each aliased where its remainder is below its limit."""
    gained, gain = 0, 0.0
    basis: list[FloatArray] = []
    for j in range(block.shape[1]):
        column = block[:, j].copy()
        for _ in range(2):
            for direction in basis:
                column -= (direction @ column) * direction
        length = math.sqrt(column @ column)
        if length < limits[j] or length == 0.0:
            continue
        basis.append(column / length)
        gained += 1
        gain += float(basis[-1] @ response) ** 2
    return gained, gain


def _remaining(rss: float, gain: float, block: FloatArray, response: FloatArray, gained: int) -> float:
    """RSS after an add; where nearly all is explained, from the remainder itself and not from a difference."""
    if gain < 0.999 * rss or gained < block.shape[1]:
        return max(rss - gain, 0.0)
    work = upper_factor(np.asfortranarray(np.column_stack([block, response])))
    rest = work[block.shape[1] :, -1]
    return float(rest @ rest)
