"""Whole-number polynomials in loop indices and sizes, and their text: what subscripts and loop bounds are made of."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import prod

from mlperf.core.documents import bounded_depth
from mlperf.core.errors import DataError

Monomial = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of whole multiples of products of names.

    Attributes
    ----------
    terms : tuple of (tuple of str, int)
        Each product (names sorted, repeated for powers, ``()`` for the constant) with its factor, no factor 0, sorted.
    """

    terms: tuple[tuple[Monomial, int], ...] = ()

    @classmethod
    def number(cls, value: int) -> Polynomial:
        """Make a constant polynomial."""
        return cls((((), value),) if value else ())

    @classmethod
    def name(cls, name: str) -> Polynomial:
        """A loop index or a size."""
        return cls((((name,), 1),))

    @classmethod
    def _of(cls, factors: Mapping[Monomial, int]) -> Polynomial:
        return cls(tuple(sorted((monomial, factor) for monomial, factor in factors.items() if factor)))

    def __add__(self, other: Polynomial) -> Polynomial:
        factors = Counter(dict(self.terms))
        factors.update(dict(other.terms))
        return self._of(factors)

    def __neg__(self) -> Polynomial:
        return self._of({monomial: -factor for monomial, factor in self.terms})

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        factors: Counter[Monomial] = Counter()
        for left, left_factor in self.terms:
            for right, right_factor in other.terms:
                factors[tuple(sorted(left + right))] += left_factor * right_factor
        return self._of(factors)

    def __str__(self) -> str:
        parts = ["*".join([*([str(factor)] if factor != 1 or not monomial else []), *monomial]) for monomial, factor in self.terms]
        return " + ".join(parts) or "0"

    @property
    def names(self) -> frozenset[str]:
        """Every name in it."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    @property
    def constant(self) -> int | None:
        """Its value where no name is left; None otherwise."""
        return None if any(monomial for monomial, _ in self.terms) else sum(factor for _, factor in self.terms)

    def bound(self, values: Mapping[str, int]) -> Polynomial:
        """The polynomial with numbers in place of some names."""
        if not any(name in values for monomial, _ in self.terms for name in monomial):
            return self
        factors: Counter[Monomial] = Counter()
        for monomial, factor in self.terms:
            kept = tuple(name for name in monomial if name not in values)
            factors[kept] += factor * prod(values[name] for name in monomial if name in values)
        return self._of(factors)

    def value(self, values: Mapping[str, int]) -> int | None:
        """Its value with numbers for its names; None where one has none."""
        if not all(name in values for monomial, _ in self.terms for name in monomial):
            return None
        return sum(factor * prod(values[name] for name in monomial) for monomial, factor in self.terms)

    @property
    def slopes(self) -> dict[str, int]:
        """Factor of each name that stands alone."""
        return {monomial[0]: factor for monomial, factor in self.terms if len(monomial) == 1}

    def is_affine_in(self, indices: Collection[str]) -> bool:
        """Whether no term multiplies two of the indices, or one with itself."""
        return all(len(monomial) <= 1 or sum(name in indices for name in monomial) <= 1 for monomial, _ in self.terms)


HINT = "Sums and whole multiples of loop indices and sizes, such as i, 2*i+1 or i*n+j."

LONGEST = 10_000
OPERATORS: Mapping[type[ast.operator], Callable[[Polynomial, Polynomial], Polynomial]] = {
    ast.Add: Polynomial.__add__,
    ast.Sub: Polynomial.__sub__,
    ast.Mult: Polynomial.__mul__,
}


def parse_expression(text: str | int, place: str) -> Polynomial:
    """The polynomial that a text or whole number stands for.

    Raises
    ------
    DataError
        Not a sum of products of names and whole numbers; names the place and the column in the text.
    """
    if len(str(text)) > LONGEST:
        raise DataError(f"got {len(str(text)):,} characters, expected at most {LONGEST:,}", place=place, hint=HINT)
    try:
        with bounded_depth(place, HINT):
            return _polynomial(ast.parse(str(text).strip(), mode="eval").body, str(text), place)
    except SyntaxError as error:
        raise DataError(f"got {text!r}, expected an expression", place=f"{place}, column {error.offset}", hint=HINT) from error
    except DataError:
        raise
    except (ValueError, MemoryError) as error:
        raise DataError(f"got {text!r:.60}, expected an expression ({error})", place=place, hint=HINT) from error


def _polynomial(node: ast.expr, text: str, place: str) -> Polynomial:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Polynomial.number(node.value)
    if isinstance(node, ast.Name):
        return Polynomial.name(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_polynomial(node.operand, text, place)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_polynomial(node.left, text, place), _polynomial(node.right, text, place))
    raise DataError(f"subscript is not affine: {text}", place=f"{place}, column {node.col_offset + 1}", hint=HINT)
