"""Where pointers of a C function stand: in an array that is known, in memory of their own, or nowhere fixed."""

from __future__ import annotations

from typing import Any

from mlperf.features.source.c_statements import names_in, polynomial_of, walk
from mlperf.features.source.c_types import Place, Scope, element_type
from mlperf.features.source.nest import Array
from mlperf.features.source.polynomial import Polynomial

KEEPS_PLACE = ("__builtin_assume_aligned", "assume_aligned", "__builtin_launder")


def points_anew(declaration: Any, array: Array | None) -> bool:
    """Whether a declaration makes a pointer, which can be set to another place."""
    return array is not None and type(declaration.type).__name__ == "PtrDecl"


def set_pointer(name: str, value: Any, scope: Scope, indices: frozenset[str]) -> None:
    """Remember where a pointer stands that is set only once.

    Parameters
    ----------
    name : str
        The pointer.
    value : pycparser node
        What it is set to. Memory that no known array is part of, as from ``malloc``, is an array of its own, if it is the same
        on every trip.
    scope : Scope
        What names mean; takes the place in.
    indices : frozenset of str
        Loops around.
    """
    place = place_in(value, scope)
    pointer = scope.arrays[name]
    if place is None:
        known = names_in(value, measured=False)
        moves = known & set(scope.arrays) or any(names_of(scope, each) & indices for each in known)
        scope.places.pop(name, None)
        # (float[2]){x, y} is written anew on every trip.
        if moves or (indices and any(type(part).__name__ == "CompoundLiteral" for part in walk(value))):
            scope.places[name] = None
        return
    target = scope.arrays.get(place.array, pointer)
    fits = len(pointer.shape) == len(target.shape) - place.dimension and pointer.element_size == target.element_size
    scope.places[name] = place if fits and pointer.shape[1:] == target.shape[place.dimension + 1 :] else None


def names_of(scope: Scope, name: str) -> frozenset[str]:
    """Loop indices and sizes that a variable is made of."""
    value = scope.values.get(name, Polynomial.name(name))
    return frozenset() if value is None else value.names


def place_in(node: Any, scope: Scope) -> Place | None:
    """The place in a known array at which an expression points; None for every other expression.

    Read are ``a``, ``a + n``, ``a[i]`` of more dimensions, ``&a[i][j]``, casts to the element's size, and pointers set to these.
    """
    kind = type(node).__name__
    if kind == "ID" and node.name in scope.arrays:
        return scope.places.get(node.name, _first(scope.arrays[node.name]))
    if kind == "BinaryOp" and node.op in ("+", "-"):
        return _stepped(node, scope)
    if kind == "Cast":
        place = place_in(node.expr, scope)
        pointed = element_type(getattr(node.to_type.type, "type", None), scope.typedefs)
        array = scope.arrays.get(place.array) if place else None
        return place if array and pointed and pointed[0] == array.element_size else None
    if kind == "FuncCall" and getattr(node.name, "name", "") in KEEPS_PLACE and node.args:
        return place_in(node.args.exprs[0], scope)
    if kind == "UnaryOp" and node.op == "&" and type(node.expr).__name__ == "ArrayRef":
        row = place_in(node.expr.name, scope)
        steps = polynomial_of(node.expr.subscript, scope)
        return None if row is None or steps is None else row.moved(steps)
    if kind == "ArrayRef":
        row = place_in(node.name, scope)
        steps = polynomial_of(node.subscript, scope)
        deeper = row is not None and steps is not None and row.dimension + 1 < len(row.subscripts)
        return row.moved(steps).inner if row and steps is not None and deeper else None
    return None


def _first(array: Array) -> Place:
    return Place(array.name, (Polynomial(),) * len(array.shape))


def _stepped(node: Any, scope: Scope) -> Place | None:
    left, right = place_in(node.left, scope), place_in(node.right, scope)
    if left is not None:
        steps = polynomial_of(node.right, scope)
        return None if steps is None else left.moved(-steps if node.op == "-" else steps)
    if right is not None and node.op == "+":
        steps = polynomial_of(node.left, scope)
        return None if steps is None else right.moved(steps)
    return None
