"""Loops and bodies of a C function."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from mlperf.core.errors import DataError
from mlperf.features.source.c_pointers import set_pointer
from mlperf.features.source.c_recurrence import fresh_names, ordered_targets
from mlperf.features.source.c_statements import STEPS, Touches, c_text, declare, place_of, polynomial_of, walk
from mlperf.features.source.c_types import Scope, declared_array
from mlperf.features.source.nest import Array, Loop, Statement
from mlperf.features.source.polynomial import Polynomial

ONE = Polynomial.number(1)
LOOP_HINT = "Write for (i = 0; i < n; i++), with a constant step and an unchanged bound."
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
IGNORED = ("EmptyStatement", "Pragma", "Typedef")
EXPRESSIONS = ("Assignment", "UnaryOp", "FuncCall", "BinaryOp", "ID", "Constant", "ArrayRef", "Cast", "ExprList", "TernaryOp")


@dataclass(slots=True)
class FunctionLoops:
    """Reads the loops of one function, statement by statement, in program order."""

    path: str
    scope: Scope
    n_assignments: Counter[str]
    initialised: Counter[str]
    names: set[str] = field(default_factory=set)
    ordered: frozenset[str] = frozenset()

    def items(self, node: Any, around: tuple[str, ...], private: frozenset[str]) -> list[Loop | Statement]:
        """Loops and statements that a statement of C stands for."""
        kind = type(node).__name__
        if kind == "Compound":
            return self.block(node.block_items or (), around, private)
        if kind == "For":
            return [self.loop(node, around)]
        if kind == "DeclList":
            return [item for declaration in node.decls for item in self.declaration(declaration, around, private)]
        if kind == "Decl":
            return self.declaration(node, around, private)
        if kind in EXPRESSIONS:
            return self.expression(node, around, private)
        if kind in IGNORED or (not around and not any(type(inner).__name__ == "For" for inner in walk(node))):
            return []
        raise DataError(
            f"got {kind.lower()} around or inside a loop, expected for loops and plain statements only",
            place=place_of(node, self.path),
            hint="How often such a part runs cannot be known from the source.",
        )

    def block(self, nodes: Any, around: tuple[str, ...], private: frozenset[str]) -> list[Loop | Statement]:
        """Items of ``{ ... }``; names declared in it are private to each trip."""
        found: list[Loop | Statement] = []
        for node in nodes:
            if type(node).__name__ == "Decl":
                private |= {node.name}
            found += self.items(node, around, private)
        return found

    def declaration(self, node: Any, around: tuple[str, ...], private: frozenset[str]) -> list[Loop | Statement]:
        """Take in a local variable or array."""
        array = declared_array(node, self.scope, lambda extent: polynomial_of(extent, self.scope))
        if array is not None:
            return self.local_array(node, array, around)
        if node.name is None:
            declare(node, self.scope)
            return []
        self.scope.arrays.pop(node.name, None)
        self.scope.values[node.name] = None
        if node.init is None:
            return []
        self.learn(node.name, node.init, declared=True)
        return self.touched(node.init, around, private | {node.name})

    def local_array(self, node: Any, array: Array, around: tuple[str, ...]) -> list[Loop | Statement]:
        """Take in a local array or pointer, and what it begins with."""
        self.scope.arrays[node.name] = array
        self.scope.values.pop(node.name, None)
        self.scope.places.pop(node.name, None)
        if type(node.init).__name__ == "InitList" and around:
            touches = self.touches(around, frozenset())
            touches.fill(node.name, node.init)
            return [touches.statement()]
        if type(node.type).__name__ == "PtrDecl":
            if not self.set_once(node.name, declared=True):
                self.scope.places[node.name] = None
            elif node.init is not None:
                set_pointer(node.name, node.init, self.scope, frozenset(around))
        return []

    def learn(self, name: str, value: Any, *, declared: bool = False) -> None:
        """Remember what a variable that is set only once stands for."""
        self.scope.values[name] = polynomial_of(value, self.scope) if self.set_once(name, declared=declared) else None

    def set_once(self, name: str, *, declared: bool) -> bool:
        """Whether the declaration at hand, or else the assignment, is all that ever sets a variable."""
        return not self.n_assignments[name] if declared else self.n_assignments[name] == 1 and not self.initialised[name]

    def touches(self, around: tuple[str, ...], private: frozenset[str]) -> Touches:
        """What collects the references of a statement inside some loops."""
        return Touches(self.path, self.scope, frozenset(around), private, frozenset(self.names).difference(around), self.ordered)

    def expression(self, node: Any, around: tuple[str, ...], private: frozenset[str]) -> list[Loop | Statement]:
        """Read one plain statement."""
        if type(node).__name__ == "Assignment" and type(node.lvalue).__name__ == "ID" and node.op == "=":
            name = node.lvalue.name
            if name in self.scope.arrays:
                if self.set_once(name, declared=False):
                    if not around:
                        self.scope.places.pop(name, None)  # a = a + n, before every loop: a stood at its first element
                    set_pointer(name, node.rvalue, self.scope, frozenset(around))
                return []
            self.learn(name, node.rvalue)
        return self.touched(node, around, private)

    def touched(self, node: Any, around: tuple[str, ...], private: frozenset[str]) -> list[Loop | Statement]:
        """The statement of an expression inside a loop; nothing where it does nothing, or stands outside every loop."""
        if not around:
            return []
        touches = self.touches(around, private)
        touches.read(node)
        statement = touches.statement()
        does_something = statement.references or statement.n_operations or statement.n_calls
        return [statement] if does_something else []

    def loop(self, node: Any, around: tuple[str, ...]) -> Loop:
        """Read one ``for`` loop.

        Raises
        ------
        DataError
            Start, bound or step is not of the plain form; names line and column.
        """
        index, start = self.start(node)
        names = chain([index], (f"{index}_{number}" for number in count(2)))
        name = next(name for name in names if name not in self.names)
        self.names.add(name)
        step = self.step(node, index)
        stop = self.stop(node, index, step)
        outside = self.scope.values.get(index)
        self.scope.values[index] = Polynomial.name(name)
        outer, self.ordered = self.ordered, ordered_targets(node.stmt)
        body = self.items(node.stmt, (*around, name), fresh_names(node.stmt))
        self.scope.values[index], self.ordered = outside, outer
        return Loop(name, start, stop, step, tuple(body))

    def start(self, node: Any) -> tuple[str, Polynomial]:
        """Index and first value."""
        init = node.init
        if type(init).__name__ == "DeclList" and len(init.decls) == 1 and init.decls[0].init is not None:
            name, value = init.decls[0].name, init.decls[0].init
        elif type(init).__name__ == "Assignment" and init.op == "=" and type(init.lvalue).__name__ == "ID":
            name, value = init.lvalue.name, init.rvalue
        else:
            raise DataError("got a loop without a plain start", place=place_of(node, self.path), hint=LOOP_HINT)
        return name, self.bound(value, node)

    def bound(self, value: Any, node: Any) -> Polynomial:
        """Start or bound of a loop."""
        polynomial = polynomial_of(value, self.scope)
        if polynomial is None:
            raise DataError(f"loop bound is not affine: {c_text(value)}", place=place_of(value, self.path), hint=LOOP_HINT)
        if polynomial.names & self.names:
            raise DataError(
                f"loop bound {c_text(value)} changes with another loop, expected a rectangular nest",
                place=place_of(node, self.path),
                hint="Strides and footprints in closed form need bounds that stay.",
            )
        return polynomial

    def step(self, node: Any, index: str) -> int:
        """Step of a loop."""
        after = node.next
        kind, operator = type(after).__name__, getattr(after, "op", "")
        if kind == "UnaryOp" and operator in STEPS and getattr(after.expr, "name", "") == index:
            return 1 if "+" in operator else -1
        if kind == "Assignment" and getattr(after.lvalue, "name", "") == index:
            scope = self.scope.inner()
            scope.values[index] = Polynomial.name(index)
            value = polynomial_of(after.rvalue, scope)
            step = None if value is None else assigned_step(operator, value, index)
            if step:
                return step
        raise DataError("got a loop without a constant step", place=place_of(node, self.path), hint=LOOP_HINT)

    def stop(self, node: Any, index: str, step: int) -> Polynomial:
        """First value that the loop does not reach."""
        condition = node.cond
        if type(condition).__name__ == "BinaryOp" and condition.op in MIRRORED:
            operator, value = condition.op, condition.right
            if getattr(condition.left, "name", "") != index:
                operator, value = MIRRORED[operator], condition.left
            ends = {"<": step > 0, "<=": step > 0, ">": step < 0, ">=": step < 0, "!=": True}[operator]
            sides = {getattr(condition.left, "name", ""), getattr(condition.right, "name", "")}
            if ends and index in sides:
                bound = self.bound(value, node)
                return bound + ONE if operator == "<=" else bound - ONE if operator == ">=" else bound
        raise DataError("got a loop without a plain bound", place=place_of(node, self.path), hint=LOOP_HINT)


def assigned_step(operator: str, value: Polynomial, index: str) -> int | None:
    """Step of ``i += value``, ``i -= value`` or ``i = value``; None where it is not constant."""
    if operator == "=":
        return (value - Polynomial.name(index)).constant
    sign = {"+=": 1, "-=": -1}.get(operator)
    return None if sign is None or value.constant is None else sign * value.constant
