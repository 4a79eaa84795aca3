"""What one C statement touches and computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mlperf.core.errors import DataError
from mlperf.core.extras import require
from mlperf.features.source.c_types import Scope
from mlperf.features.source.nest import Reference, Statement
from mlperf.features.source.polynomial import Polynomial

HINT = "Sums and whole multiples of loop indices and sizes, such as a[i][2*j+1] or a[i*n + j]."
ARITHMETIC = MappingProxyType({"+": Polynomial.__add__, "-": Polynomial.__sub__, "*": Polynomial.__mul__})
STEPS = ("++", "--", "p++", "p--")


def place_of(node: Any, path: str) -> str:
    """``"kernel.c, line 3, column 7"`` of a node."""
    coordinates = node.coord
    return f"{path}, line {coordinates.line}, column {coordinates.column}" if coordinates else path


def c_text(node: Any) -> str:
    """A node as C."""
    return str(require("pycparser.c_generator", "asm").CGenerator().visit(node))


def polynomial_of(node: Any, scope: Scope) -> Polynomial | None:
    """The polynomial that an expression of whole numbers stands for; None for every other expression."""
    kind = type(node).__name__
    if kind == "Constant":
        digits = node.value.rstrip("uUlL")
        return Polynomial.number(int(digits, 0)) if node.type.endswith("int") else None
    if kind == "ID":
        return None if node.name in scope.arrays else scope.values.get(node.name, Polynomial.name(node.name))
    if kind == "Cast":
        return polynomial_of(node.expr, scope)
    if kind == "UnaryOp" and node.op in "+-":
        inner = polynomial_of(node.expr, scope)
        return None if inner is None else (-inner if node.op == "-" else inner)
    if kind == "BinaryOp":
        return _combined(node.op, polynomial_of(node.left, scope), polynomial_of(node.right, scope))
    return None


def _combined(operator: str, left: Polynomial | None, right: Polynomial | None) -> Polynomial | None:
    if left is None or right is None:
        return None
    if operator in ARITHMETIC:
        return ARITHMETIC[operator](left, right)
    dividend, divisor = left.constant, right.constant
    if operator == "/" and dividend is not None and divisor:
        return Polynomial.number(int(dividend / divisor))
    return None


@dataclass(slots=True)
class Touches:
    """Collects what the expressions of a statement do."""

    path: str
    scope: Scope
    indices: frozenset[str]
    private: frozenset[str]
    found: dict[tuple[str, tuple[Polynomial, ...]], str] = field(default_factory=dict)
    n_operations: int = 0
    n_multiplies: int = 0
    n_calls: int = 0
    reduces_scalar: bool = False

    def statement(self) -> Statement:
        """What was collected."""
        references = tuple(Reference(array, subscripts, access) for (array, subscripts), access in self.found.items())
        return Statement(references, self.n_operations, self.n_multiplies, self.n_calls, self.reduces_scalar)

    def read(self, node: Any) -> None:
        """Take in an expression whose value is used."""
        visit = VISITS.get(type(node).__name__)
        if visit is not None:
            visit(self, node)
            return
        raise DataError(f"cannot read {c_text(node)!r}", place=place_of(node, self.path), hint="Plain arrays and numbers only.")

    def add(self, node: Any, access: str) -> None:
        """Take in a reference to an array."""
        key = self.reference(node)
        known = self.found.get(key)
        self.found[key] = access if known in (None, access) else "update"

    def reference(self, node: Any) -> tuple[str, tuple[Polynomial, ...]]:
        """Array and subscripts of a reference.

        Raises
        ------
        DataError
            Not a declared array, too few or many subscripts, or a subscript that is not affine; names line and column.
        """
        parts, base = [], node
        while type(base).__name__ == "ArrayRef":
            parts.append(base.subscript)
            base = base.name
        array = self.scope.arrays.get(base.name) if type(base).__name__ == "ID" else None
        if array is None:
            raise DataError(
                f"{c_text(node)} is not an element of an array declared here", place=place_of(base, self.path),
                hint="Declare the array with its type and extents.",
            )  # fmt: skip
        if len(parts) != len(array.shape):
            raise DataError(
                f"got {len(parts)} subscripts in {c_text(node)}, expected {len(array.shape)}", place=place_of(base, self.path),
                hint="One subscript for each dimension of the declaration.",
            )  # fmt: skip
        return array.name, tuple(self.subscript(part, node) for part in reversed(parts))

    def subscript(self, part: Any, whole: Any) -> Polynomial:
        """One subscript, affine in the loop indices."""
        polynomial = polynomial_of(part, self.scope)
        if polynomial is None or not polynomial.is_affine_in(self.indices):
            raise DataError(f"subscript is not affine: {c_text(whole)}", place=place_of(part, self.path), hint=HINT)
        return polynomial

    def assign(self, node: Any) -> None:
        """Take in an assignment of any form."""
        self.read(node.rvalue)
        self.store(node.lvalue, node.op != "=")
        if node.op != "=":
            self.count(node.op[:-1])
        elif type(node.lvalue).__name__ == "ID" and node.lvalue.name in names_in(node.rvalue):
            self.reduces_scalar |= node.lvalue.name not in self.private

    def store(self, target: Any, reads_too: bool) -> None:
        """Take in the left side of an assignment."""
        kind = type(target).__name__
        if kind == "ArrayRef":
            self.add(target, "update" if reads_too else "write")
        elif kind == "ID":
            self.reduces_scalar |= reads_too and target.name not in self.private
        else:
            raise DataError(
                f"cannot write to {c_text(target)!r}", place=place_of(target, self.path), hint="Write to a[i][j] or a variable."
            )

    def count(self, operator: str) -> None:
        """Count an operation on values."""
        self.n_operations += 1
        self.n_multiplies += operator == "*"

    def unary(self, node: Any) -> None:
        """Take in ``-x``, ``x++``, ``*p``."""
        if node.op in STEPS:
            self.store(node.expr, True)
            self.count("+")
        elif node.op in ("*", "&"):
            raise DataError(
                f"cannot follow {c_text(node)!r}", place=place_of(node, self.path), hint="Write a[i] in place of *(a+i)."
            )
        elif node.op != "sizeof":
            self.read(node.expr)

    def binary(self, node: Any) -> None:
        """Take in ``x + y``."""
        self.count(node.op)
        self.read(node.left)
        self.read(node.right)

    def call(self, node: Any) -> None:
        """Take in a function call and its arguments."""
        self.n_calls += 1
        for argument in node.args.exprs if node.args else ():
            if type(argument).__name__ == "ID" and argument.name in self.scope.arrays:
                raise DataError(
                    f"{c_text(node)} gets the whole array {argument.name}", place=place_of(node, self.path),
                    hint="What a called function touches is not known here: write its loops out.",
                )  # fmt: skip
            self.read(argument)

    def choice(self, node: Any) -> None:
        """Take in ``c ? x : y``: all three are counted."""
        self.count("?")
        for part in (node.cond, node.iftrue, node.iffalse):
            self.read(part)


def _nothing(_touches: Touches, _node: Any) -> None:
    return


def _several(touches: Touches, node: Any) -> None:
    for expression in node.exprs:
        touches.read(expression)


VISITS: Mapping[str, Callable[[Touches, Any], None]] = {
    "Constant": _nothing,
    "ID": _nothing,
    "ArrayRef": lambda touches, node: touches.add(node, "read"),
    "Assignment": Touches.assign,
    "UnaryOp": Touches.unary,
    "BinaryOp": Touches.binary,
    "FuncCall": Touches.call,
    "TernaryOp": Touches.choice,
    "Cast": lambda touches, node: touches.read(node.expr),
    "ExprList": _several,
}


def names_in(node: Any) -> frozenset[str]:
    """Names of variables in an expression."""
    return frozenset(found.name for found in walk(node) if type(found).__name__ == "ID")


def walk(node: Any) -> Iterator[Any]:
    """A node and everything below it."""
    yield node
    for _, child in node.children():
        yield from walk(child)
