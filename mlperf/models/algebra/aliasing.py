"""R's rule for rank: columns in order, the later one of a dependent set loses and its relation to the others is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.algebra.blockqr import upper_factor
from mlperf.models.algebra.triangle import Triangle
from mlperf.models.formula.number_format import format_number

# A coefficient of a relation smaller than this share of the aliased column is rounding.
RELATION_TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class SubsetFactor:
    """The factor of some columns of a triangle after aliasing.

    Parameters
    ----------
    columns : array of int, shape (rank,)
        Columns of the triangle that stay, in order.
    aliased : array of int, shape (n_aliased,)
        Columns that are linear combinations of earlier ones.
    factor : array, shape (rank, rank)
        Upper triangular.
    side : array, shape (rank,)
        ``factor @ b = side`` gives the scaled coefficients.
    root_rss : float
        Square root of the residual sum of squares of scaled y.
    """

    columns: IntArray
    aliased: IntArray
    factor: FloatArray
    side: FloatArray
    root_rss: float


def factor_columns(triangle: Triangle, columns: IntArray, tol: float) -> SubsetFactor:
    """Factor some columns in the order given, leaving out those that R would alias.

    A column is aliased where its residual norm after projection on the columns kept before it is below ``tol`` times
    its own norm, both weighted and not centred.

    Parameters
    ----------
    triangle : Triangle
    columns : array of int, shape (n_columns,)
    tol : float
    """
    n_columns = len(columns)
    whole = n_columns == triangle.n_columns and bool((columns[1:] > columns[:-1]).all())
    if whole:
        work = triangle.r
    else:
        picked = np.append(columns, triangle.n_columns)
        work = upper_factor(np.asfortranarray(triangle.r[: picked.max() + 1, picked]))
    limits = tol * triangle.norms[columns]
    position = 0
    kept = columns
    aliased: list[int] = []
    while True:
        lengths = np.abs(np.diag(work)[position : len(kept)])
        bad = np.flatnonzero((lengths < limits[position:]) | (lengths == 0.0))
        if len(bad) == 0:
            break
        position += int(bad[0])
        aliased.append(int(kept[position]))
        work = _without_column(work, position)
        kept = np.delete(kept, position)
        limits = np.delete(limits, position)
    rank = len(kept)
    tail = work[rank : rank + 1, rank]
    root_rss = abs(float(tail[0])) if len(tail) else 0.0
    return SubsetFactor(kept, np.asarray(aliased, dtype=np.int64), work[:rank, :rank], work[:rank, rank], root_rss)


def _without_column(work: FloatArray, position: int) -> FloatArray:
    """Drop a column of a triangular matrix and make it triangular again."""
    shorter = np.delete(work, position, axis=1)
    tail = upper_factor(np.asfortranarray(shorter[position:, position:]))
    n_rows = position + len(tail)
    again = np.zeros((n_rows, shorter.shape[1]))
    again[:position] = shorter[:position]
    again[position:, position:] = tail
    return again


def relation_coefficients(triangle: Triangle, subset: SubsetFactor) -> FloatArray:
    """Coefficients of each aliased column on the kept ones, scaled, shape (n_aliased, rank)."""
    if len(subset.aliased) == 0 or len(subset.columns) == 0:
        return np.zeros((len(subset.aliased), len(subset.columns)))
    both = np.concatenate([subset.columns, subset.aliased])
    work = upper_factor(np.asfortranarray(triangle.r[:, both]))
    rank = len(subset.columns)
    solved: FloatArray = lapack.dtrtrs(work[:rank, :rank], np.asfortranarray(work[:rank, rank:]))[0]
    return solved.T


@dataclass(frozen=True, slots=True)
class Relation:
    """An aliased column and the linear relation that makes it redundant.

    Parameters
    ----------
    column : str
    parts : tuple of (str, float)
        Columns and coefficients, the constant as ``(Intercept)``; empty for a column of zeros.
    """

    column: str
    parts: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        """``incq = addps - mulps + 2``."""
        constant = [part for part in self.parts if part[0] == "(Intercept)"]
        rest = sorted((part for part in self.parts if part[0] != "(Intercept)"), key=lambda part: part[1] < 0)
        words = ""
        for name, coefficient in rest + constant:
            size = format_number(abs(coefficient), 6)
            shown = size if name == "(Intercept)" else name if size == "1" else f"{size} * {name}"
            sign = "-" if coefficient < 0 else "+"
            words += f" {sign} {shown}" if words else (f"-{shown}" if sign == "-" else shown)
        return f"{self.column} = {words or '0'}"


def name_relations(triangle: Triangle, subset: SubsetFactor, names: Sequence[str]) -> tuple[Relation, ...]:
    """The relation of every aliased column, coefficients in the units of the data.

    Parameters
    ----------
    triangle : Triangle
    subset : SubsetFactor
    names : sequence of str
        Of all columns of the triangle.
    """
    found = []
    for column, scaled in zip(subset.aliased, relation_coefficients(triangle, subset), strict=True):
        own = triangle.norms[column]
        parts = [
            (names[kept], _tidy(float(value * triangle.scale[column] / triangle.scale[kept])))
            for kept, value in zip(subset.columns, scaled, strict=True)
            if abs(value) * triangle.norms[kept] > RELATION_TOLERANCE * own
        ]
        found.append(Relation(names[column], tuple(parts) if own > 0 else ()))
    return tuple(_with_simple_columns(relation, found[:number]) for number, relation in enumerate(found))


def _with_simple_columns(relation: Relation, earlier: Sequence[Relation]) -> Relation:
    """The same relation with an aliased column in place of a multiple of its only part: ``- mulps`` for ``- 0.25 * movaps``."""
    multiples = {other.parts[0][0]: (other.column, other.parts[0][1]) for other in earlier if len(other.parts) == 1}
    parts = []
    for name, value in relation.parts:
        column, factor = multiples.get(name, (name, 1.0))
        simpler = len(relation.parts) > 1 and abs(value) != 1.0 and abs(value) == abs(factor)
        parts.append((column, value / factor) if simpler else (name, value))
    return Relation(relation.column, tuple(parts))


def _tidy(value: float) -> float:
    """The whole number or short decimal that a coefficient is, up to rounding."""
    for decimals in (0, 1, 2, 3):
        near = round(value, decimals)
        if near != 0 and abs(near - value) <= 1e-8 * abs(value):
            return near
    return value
