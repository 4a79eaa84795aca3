"""The data behind a search over formulas: values of variables, rows in use, and a triangle for the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlperf.core.arrays import LARGEST, BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.models.algebra.triangle import Triangle, triangle
from mlperf.models.formula.formula import Term
from mlperf.models.formula.terms import Coding, codings, term_columns
from mlperf.models.formula.variables import Variable

Place = tuple[tuple[str, ...], Coding]


@dataclass(slots=True, eq=False)
class Rows:
    """One set of rows with the columns made so far and their triangle."""

    mask: BoolArray | None
    blocks: dict[Place, FloatArray] = field(default_factory=dict)
    groups: dict[Place, IntArray] = field(default_factory=dict)
    triangle: Triangle | None = None


@dataclass(slots=True, eq=False)
class Workspace:
    """Values of all variables of a search and the triangles made from them.

    Parameters
    ----------
    variables : mapping of str to Variable
    values : mapping of str to array
        What ``Variable.read`` gave, all rows.
    y : array, shape (n_samples,)
        Response minus offset.
    weights : array, shape (n_samples,), optional
    intercept : bool
    available : array of bool, shape (n_samples,)
        Rows whose response, weight and offset are there.
    source : (array of shape (n_samples, n_features), names), optional
        A matrix whose columns are plain terms: used as it is, without a copy, where a model wants just its columns.
    """

    variables: Mapping[str, Variable]
    values: Mapping[str, FloatArray]
    y: FloatArray
    weights: FloatArray | None
    intercept: bool
    available: BoolArray
    source: tuple[FloatArray, tuple[str, ...]] | None = None
    gaps: frozenset[str] = field(init=False)
    _rows: dict[bytes, Rows] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.gaps = frozenset(name for name, values in self.values.items() if np.isnan(np.sum(values)))

    def complete(self, terms: Iterable[Term]) -> BoolArray:
        """Rows without a missing value in any variable of some terms, shape (n_samples,)."""
        mask = self.available
        if not self.gaps:
            return mask
        for name in dict.fromkeys(name for term in terms for name in term.variables):
            if name in self.gaps:
                missing = np.isnan(self.values[name])
                mask = mask & ~(missing if missing.ndim == 1 else missing.any(axis=1))
        return mask

    def is_plain(self) -> bool:
        """Whether every variable is a number and nothing is missing."""
        return all(not variable.is_factor for variable in self.variables.values()) and not self.gaps

    def missing_place(self, terms: Iterable[Term]) -> tuple[int, str] | None:
        """First row (from 0) and variable with a missing value."""
        for name in dict.fromkeys(name for term in terms for name in term.variables if name in self.gaps):
            rows = np.flatnonzero(np.isnan(self.values[name].reshape(len(self.y), -1)).any(axis=1))
            if len(rows):
                return int(rows[0]), name
        return None

    def place(self, terms: Sequence[Term], mask: BoolArray) -> tuple[Triangle, list[IntArray]]:
        """A triangle that has the columns of a model, and which they are.

        Parameters
        ----------
        terms : sequence of Term
            The model; it decides how each factor is coded.
        mask : array of bool, shape (n_samples,)
            Rows in use.
        """
        rows = self._rows.setdefault(mask.tobytes(), Rows(None if mask.all() else mask))
        wanted = self.places(terms)
        missing = [(term, place) for term, place in zip(terms, wanted, strict=True) if place not in rows.blocks]
        if missing or rows.triangle is None:
            for term, place in missing:
                rows.blocks[place] = self._block(term, place[1], rows.mask)
            self._factor(rows)
        if rows.triangle is None:
            raise DataError("got no rows, expected at least one")
        return rows.triangle, [rows.groups[place] for place in wanted]

    def places(self, terms: Sequence[Term]) -> list[Place]:
        """Terms with the coding that they have in a model of just these terms."""
        flags = codings(terms, self.variables, intercept=self.intercept)
        return [(term.variables, coding) for term, coding in zip(terms, flags, strict=True)]

    def blocks(self, mask: BoolArray) -> Mapping[Place, FloatArray]:
        """Columns made so far on some rows."""
        return self._rows[mask.tobytes()].blocks

    def matrix_of(self, mask: BoolArray) -> FloatArray:
        """The columns of the triangle of some rows, without the constant."""
        return self.matrix(self._rows[mask.tobytes()])

    def _block(self, term: Term, coding: Coding, mask: BoolArray | None) -> FloatArray:
        values = {name: self.values[name] if mask is None else self.values[name][mask] for name in term.variables}
        block = term_columns(term, coding, self.variables, values)
        largest = np.abs(block).max(axis=0, initial=0.0)
        if not np.isfinite(largest).all():
            raise DataError(
                "got an infinite value, expected finite numbers",
                place=f"term {term.name}",
                hint="log(0) and 1/0 are infinite: shift or drop those rows.",
            )
        if (((largest < 1.0 / LARGEST) & (largest > 0.0)) | (largest > LARGEST)).any():
            got = f"got values up to {largest.max():.3g}, expected some between {1.0 / LARGEST:g} and {LARGEST:g}"
            raise DataError(got, place=f"term {term.name}", hint="A fit counts with their squares: choose another unit.")
        return block

    def matrix(self, rows: Rows) -> FloatArray:
        """All columns made so far, in the order of the triangle (without the constant)."""
        blocks = list(rows.blocks.values())
        if self.source is not None and rows.mask is None and list(rows.blocks) == [((name,), (False,)) for name in self.source[1]]:
            return self.source[0]
        if len(blocks) == 1:
            return blocks[0]
        n_samples = len(self.y) if rows.mask is None else int(rows.mask.sum())
        joined = np.empty((n_samples, sum(block.shape[1] for block in blocks)), order="F")
        at = 0
        for block in blocks:
            joined[:, at : at + block.shape[1]] = block
            at += block.shape[1]
        return joined

    def _factor(self, rows: Rows) -> None:
        y = self.y if rows.mask is None else self.y[rows.mask]
        weights = self.weights if self.weights is None or rows.mask is None else self.weights[rows.mask]
        rows.triangle = triangle(self.matrix(rows), y, weights, intercept=self.intercept)
        at = int(self.intercept)
        for place, block in rows.blocks.items():
            rows.groups[place] = np.arange(at, at + block.shape[1])
            at += block.shape[1]
