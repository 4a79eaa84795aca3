"""What one C statement touches and computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mlperf.core.errors import DataError
from mlperf.core.extras import require
from mlperf.features.source.c_types import Place, Scope, declared_array
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
        return Polynomial.number(_whole(node.value.rstrip("uUlL"))) if node.type.endswith("int") else None
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


def _whole(digits: str) -> int:
    """The number that C digits spell: octal behind a leading 0."""
    return int(digits, 8 if digits.isdigit() and digits[0] == "0" else 0)


def _combined(operator: str, left: Polynomial | None, right: Polynomial | None) -> Polynomial | None:
    if left is None or right is None:
        return None
    if operator in ARITHMETIC:
        return ARITHMETIC[operator](left, right)
    dividend, divisor = left.constant, right.constant
    if operator == "/" and dividend is not None and divisor:
        return Polynomial.number(abs(dividend) // abs(divisor) * (1 if (dividend < 0) == (divisor < 0) else -1))
    return None


def declare(node: Any, scope: Scope) -> None:
    """Take in a declaration that stands for the same everywhere: types, arrays, constants."""
    if type(node).__name__ == "Typedef":
        scope.typedefs[node.name] = node.type
        _number_names(node.type.type, scope)
    elif type(node).__name__ == "Decl":
        array = declared_array(node, scope, lambda extent: polynomial_of(extent, scope))
        if array is not None:
            scope.arrays[node.name] = array
        elif type(node.type).__name__ == "TypeDecl" and "const" in node.quals and node.init is not None:
            number = polynomial_of(node.init, scope)
            if number is not None:
                scope.values[node.name] = number
        _number_names(node.type, scope)


def _number_names(kind: Any, scope: Scope) -> None:
    """Take in the names of ``enum { N = 50 }``; each without a number is one more than that before it."""
    if type(kind).__name__ == "TypeDecl":
        kind = kind.type
    if type(kind).__name__ != "Enum" or kind.values is None:
        return
    number: Polynomial | None = Polynomial()
    for each in kind.values.enumerators:
        number = number if each.value is None else polynomial_of(each.value, scope)
        scope.values[each.name] = number
        number = None if number is None else number + Polynomial.number(1)


@dataclass(slots=True)
class Touches:
    """Collects what the expressions of a statement do."""

    path: str
    scope: Scope
    indices: frozenset[str]
    private: frozenset[str]
    ended: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()
    found: dict[tuple[str, tuple[Polynomial, ...]], str] = field(default_factory=dict)
    n_operations: int = 0
    n_multiplies: int = 0
    n_calls: int = 0
    reduces_scalar: bool = False
    in_order: bool = False

    def statement(self) -> Statement:
        """What was collected."""
        references = tuple(Reference(array, subscripts, access) for (array, subscripts), access in self.found.items())
        return Statement(references, self.n_operations, self.n_multiplies, self.n_calls, self.reduces_scalar, self.in_order)

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
        first = Place(array.name, (Polynomial(),) * len(parts))
        place = self.scope.places.get(array.name, first)
        whole = self.scope.arrays.get(place.array) if place else None
        if place is None or whole is None:
            raise DataError(
                f"cannot tell where the pointer {array.name} stands in {c_text(node)}", place=place_of(base, self.path),
                hint="Set it once, as in float *row = a + i*n, or write the address out, as in a[i*n + j].",
            )  # fmt: skip
        for number, part in enumerate(reversed(parts)):
            place = place.moved(self.subscript(part, node))
            place = place.inner if number + 1 < len(parts) else place
        if self.scope.touched.setdefault(place.array, whole) != whole:
            raise DataError(
                f"got another array {place.array} than before", place=place_of(base, self.path), hint="Give each a name of its own."
            )
        if any(subscript.names & self.ended for subscript in place.subscripts):
            raise DataError(
                f"{c_text(node)} depends on a loop that is over", place=place_of(base, self.path),
                hint="Which trip was the last is not followed: write the number out.",
            )  # fmt: skip
        return place.array, place.subscripts

    def subscript(self, part: Any, whole: Any) -> Polynomial:
        """One subscript, affine in the loop indices."""
        polynomial = polynomial_of(part, self.scope)
        if polynomial is None or not polynomial.is_affine_in(self.indices):
            raise DataError(f"subscript is not affine: {c_text(whole)}", place=place_of(part, self.path), hint=HINT)
        return polynomial

    def fill(self, array: str, node: Any, prefix: tuple[Polynomial, ...] = ()) -> None:
        """Take in the list ``{x, y}`` that a local array begins with: what is read, and the elements written."""
        for number, value in enumerate(node.exprs):
            subscripts = (*prefix, Polynomial.number(number))
            if type(value).__name__ == "InitList":
                self.fill(array, value, subscripts)
                continue
            self.read(value)
            if len(subscripts) == len(self.scope.arrays[array].shape):
                self.found[array, subscripts] = "write"
                self.scope.touched.setdefault(array, self.scope.arrays[array])

    def name(self, node: Any) -> None:
        """Take in a variable: its value; DataError: it is an address, which may lead anywhere."""
        if node.name in self.scope.arrays:
            raise DataError(
                f"cannot follow the address {node.name}", place=place_of(node, self.path),
                hint=f"Use its elements, as in {node.name}[i]; what a called function touches is not known here.",
            )  # fmt: skip

    def assign(self, node: Any) -> None:
        """Take in an assignment of any form."""
        self.read(node.rvalue)
        self.store(node.lvalue, node.op != "=")
        if node.op != "=":
            self.count(node.op[:-1])
        elif type(node.lvalue).__name__ == "ID" and node.lvalue.name in names_in(node.rvalue):
            self.accumulate(node.lvalue.name)
        elif type(node.lvalue).__name__ == "ArrayRef":
            self.in_order |= bool(self.ordered) and c_text(node.lvalue) in self.ordered

    def store(self, target: Any, reads_too: bool) -> None:
        """Take in the left side of an assignment."""
        kind = type(target).__name__
        if kind == "ArrayRef":
            self.add(target, "update" if reads_too else "write")
            self.in_order |= reads_too and c_text(target) in self.ordered
        elif kind == "ID":
            if reads_too:
                self.accumulate(target.name)
        else:
            raise DataError(
                f"cannot write to {c_text(target)!r}", place=place_of(target, self.path), hint="Write to a[i][j] or a variable."
            )

    def accumulate(self, name: str) -> None:
        """Take in that a variable's new value is made of its old one."""
        if name not in self.private:
            self.reduces_scalar = True
            self.in_order |= name in self.ordered

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
    "ID": Touches.name,
    "ArrayRef": lambda touches, node: touches.add(node, "read"),
    "Assignment": Touches.assign,
    "UnaryOp": Touches.unary,
    "BinaryOp": Touches.binary,
    "FuncCall": Touches.call,
    "TernaryOp": Touches.choice,
    "Cast": lambda touches, node: touches.read(node.expr),
    "ExprList": _several,
}


def names_in(node: Any, *, measured: bool = True) -> frozenset[str]:
    """Names of variables in an expression; ``measured``: also those of which ``sizeof`` asks only how large they are."""
    return frozenset(found.name for found in walk(node, measured=measured) if type(found).__name__ == "ID")


def walk(node: Any, *, measured: bool = True) -> Iterator[Any]:
    """A node and everything below it; without what ``sizeof`` measures where ``measured`` is False."""
    yield node
    if not measured and getattr(node, "op", "") == "sizeof":
        return
    for _, child in node.children():
        yield from walk(child, measured=measured)
