"""Terms of a model: from names or a formula to the columns of R's model matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.models.formula.evaluate import Frame
from mlperf.models.formula.formula import Formula, Term, ordered_terms, parse_formula, parse_term
from mlperf.models.formula.variables import Variable, learn_variable, used_levels, variable_from_dict

__all__ = ["Columns", "Formula", "Term", "Terms", "codings", "parse_formula", "parse_term"]

Coding = tuple[bool, ...]


class Columns(NamedTuple):
    """A model matrix with the names of its columns.

    matrix : array, shape (n_samples, n_columns); NaN in rows with a missing variable.
    names : list of str, R's column names, ``(Intercept)`` first where there is a constant.
    assign : array of int, shape (n_columns,); 0 for the constant, else 1 + the term's position.
    """

    matrix: FloatArray
    names: list[str]
    assign: IntArray


def codings(terms: Sequence[Term], variables: Mapping[str, Variable], *, intercept: bool) -> list[Coding]:
    """For each term, which of its factors get a column for every level.

    A factor is coded by contrasts where the rest of its term stands in the model already, alone or inside an earlier term (the
    constant stands for an empty rest), otherwise by all levels: R's rule, also where ``x:f`` does not span ``f``. Without a
    constant the first factor of the first term that has one gets all levels.

    Returns
    -------
    list of tuple of bool
        One flag per variable of each term; False for numbers.

    References
    ----------
    Chambers and Hastie (1992), Statistical Models in S, section 2.4.
    """
    if not any(variable.is_factor for variable in variables.values()):
        return [(False,) * term.order for term in terms]
    flags = []
    for position, term in enumerate(terms):
        earlier = [other.key for other in terms[:position]]
        flags.append(tuple(variables[name].is_factor and not _has_margin(term.key - {name}, earlier) for name in term.variables))
    if not intercept:
        for position, term in enumerate(terms):
            factor = next((place for place, name in enumerate(term.variables) if variables[name].is_factor), None)
            if factor is not None:
                flags[position] = tuple(flag or place == factor for place, flag in enumerate(flags[position]))
                break
    return flags


def _has_margin(margin: frozenset[str], earlier: Sequence[frozenset[str]]) -> bool:
    return not margin or any(margin <= key for key in earlier)


def term_columns(term: Term, coding: Coding, variables: Mapping[str, Variable], values: Mapping[str, FloatArray]) -> FloatArray:
    """Columns of one term, shape (n_samples, n_columns); in a product the first variable varies fastest."""
    product: FloatArray | None = None
    for name, full in zip(term.variables, coding, strict=True):
        block = variables[name].columns(values[name], full=full)
        product = block if product is None else (block[:, None, :] * product[:, :, None]).transpose(0, 2, 1).reshape(len(block), -1)
    if product is None:
        raise DataError("got the constant, expected a term with variables")
    return product


def term_column_names(term: Term, coding: Coding, variables: Mapping[str, Variable]) -> list[str]:
    """R's names of those columns: ``kindfc:log(flops)``."""
    labels = [""]
    for place, (name, full) in enumerate(zip(term.variables, coding, strict=True)):
        own = [name + suffix for suffix in variables[name].suffixes(full=full)]
        labels = [f"{left}:{right}" if place else right for right in own for left in labels]
    return labels


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms with everything learned that is needed to make their columns from any frame.

    Parameters
    ----------
    terms : tuple of Term
        By interaction order, then by appearance.
    variables : mapping of str to Variable
    intercept : bool
    every_level : bool
        Whether factors have a column for every level wherever they enter, instead of R's contrasts.
    """

    terms: tuple[Term, ...]
    variables: Mapping[str, Variable]
    intercept: bool = True
    every_level: bool = False

    @classmethod
    def learn(cls, terms: Iterable[str | Term], frame: Frame, *, intercept: bool = True) -> Terms:
        """Learn kinds, levels and recurrences from a frame.

        Parameters
        ----------
        terms : iterable of str or Term
            Entries of a term list (``"m*n*k"``, ``"log2(n)"``, ``"a:b"``); ``"1"`` is the constant.
        frame : DataFrame or mapping of columns
        intercept : bool
            Whether the model has a constant; an entry ``"1"`` also asks for it.

        Raises
        ------
        UsageError, DataError
            Unknown functions, absent columns.
        """
        given = list(terms)
        read = [entry if isinstance(entry, Term) else parse_term(entry) for entry in given]
        # Terms of a formula carry its labels already; a list of texts is labelled by appearance.
        labelled = all(isinstance(entry, Term) for entry in given)
        ordered = (
            tuple(sorted((term for term in read if term.order), key=lambda term: term.order)) if labelled else ordered_terms(read)
        )
        names = dict.fromkeys(name for term in ordered for name in term.variables)
        variables = {name: learn_variable(name, frame) for name in names}
        learned = cls(ordered, variables, intercept or any(term.order == 0 for term in read))
        if not any(variable.is_factor for variable in variables.values()):
            return learned
        return learned.on_rows(learned.read(frame), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Labels of the terms."""
        return tuple(term.name for term in self.terms)

    def with_every_level(self) -> Terms:
        """A column for every level wherever a factor enters; what those columns add up to, the constant too, is left out.

        Coefficients that may not be negative then mean the same whichever level is the first.
        """
        factors = {name for name, variable in self.variables.items() if variable.is_factor}
        if not factors:
            return self
        keys = [term.key for term in self.terms]
        kept = tuple(term for term in self.terms if not any(term.key < key and key - term.key <= factors for key in keys))
        needed = {name: variable for name, variable in self.variables.items() if any(name in term.key for term in kept)}
        return Terms(kept, needed, self.intercept and not any(key <= factors for key in keys), every_level=True)

    def _codings(self) -> list[Coding]:
        if self.every_level:
            return [tuple(self.variables[name].is_factor for name in term.variables) for term in self.terms]
        return codings(self.terms, self.variables, intercept=self.intercept)

    @property
    def column_names(self) -> list[str]:
        """R's names of all columns of the terms."""
        flags = self._codings()
        found = ["(Intercept)"] if self.intercept else []
        for term, coding in zip(self.terms, flags, strict=True):
            found += term_column_names(term, coding, self.variables)
        return found

    def read(self, frame: Frame) -> dict[str, FloatArray]:
        """Values of every variable (see ``Variable.read``)."""
        return {name: variable.read(frame) for name, variable in self.variables.items()}

    def read_lenient(self, frame: Frame) -> dict[str, FloatArray]:
        """The same with unknown levels as missing, for rows that a fit leaves out."""
        return {name: variable.read(frame, strict=False) for name, variable in self.variables.items()}

    def on_rows(self, values: Mapping[str, FloatArray], rows: BoolArray | None) -> Terms:
        """The same terms without the factor levels that no row of ``rows`` uses."""
        kept = {
            name: used_levels(variable, values[name] if rows is None else values[name][rows]) if variable.is_factor else variable
            for name, variable in self.variables.items()
        }
        return Terms(self.terms, kept, self.intercept, self.every_level)

    def subset(self, terms: Iterable[Term]) -> Terms:
        """A model with some of the terms; factor levels and recurrences stay as learned."""
        chosen = tuple(terms)
        needed = {name for term in chosen for name in term.variables}
        kept = {name: variable for name, variable in self.variables.items() if name in needed}
        return Terms(chosen, kept, self.intercept, self.every_level)

    def columns(self, frame: Frame) -> Columns:
        """The model matrix of a frame.

        Returns
        -------
        Columns
            ``(matrix, names, assign)``.

        Raises
        ------
        DataError
            An absent column, text where numbers are expected, an unknown factor level.
        """
        values = self.read(frame)
        n_samples = len(next(iter(values.values()))) if values else n_rows(frame)
        flags = self._codings()
        blocks = [np.ones((n_samples, 1))] if self.intercept else []
        assign = [0] if self.intercept else []
        for position, (term, coding) in enumerate(zip(self.terms, flags, strict=True)):
            blocks.append(term_columns(term, coding, self.variables, values))
            assign += [position + 1] * blocks[-1].shape[1]
        matrix = np.hstack(blocks) if blocks else np.empty((n_samples, 0))
        return Columns(matrix, self.column_names, np.asarray(assign, dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        """JSON types; ``Terms.from_dict`` reads them back."""
        return {
            "terms": [list(term.variables) for term in self.terms],
            "variables": [variable.to_dict() for variable in self.variables.values()],
            "intercept": self.intercept,
        } | ({"every_level": True} if self.every_level else {})

    @classmethod
    def from_dict(cls, stored: Any, path: str = "$") -> Terms:
        """The inverse of ``to_dict``; DataError with the JSON path of what is wrong."""
        with Fields(stored, path) as fields:
            made = [variable_from_dict(item, f"{path}.variables[{at}]") for at, item in enumerate(fields.items("variables"))]
            variables = {variable.name: variable for variable in made}
            items = [Fields({"term": item}, f"{path}.terms[{at}]") for at, item in enumerate(fields.items("terms"))]
            terms = tuple(Term(item.texts("term")) for item in items)
            intercept = fields.boolean("intercept")
            # Files of earlier releases have contrasts everywhere.
            every_level = False if fields.missing("every_level") else fields.boolean("every_level")
        for at, term in enumerate(terms):
            unknown = [name for name in term.variables if name not in variables]
            if unknown or not term.variables:
                raise DataError(f"got {unknown or 'no variable'}, expected names of variables", place=f"{path}.terms[{at}]")
            if len(set(term.variables)) < len(term.variables):
                raise DataError("got a variable more than once", place=f"{path}.terms[{at}]")
        return cls(terms, variables, intercept, every_level)


def n_rows(frame: Frame) -> int:
    """Number of rows of a frame or mapping of columns."""
    if hasattr(frame, "index"):
        return len(frame.index)
    return len(next(iter(frame.values()))) if frame else 0
