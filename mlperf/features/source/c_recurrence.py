"""Which values a loop hands from trip to trip, and whether that is a sum or the like, which several lanes can share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from mlperf.features.source.c_statements import STEPS, c_text, names_in, walk

# Operators of one class may be mixed: their partial results are joined at the end.
CLASSES: Mapping[str, str] = MappingProxyType({"+": "+", "-": "+", "*": "*", "&": "&", "|": "|", "^": "^"})
TARGETS = ("ID", "ArrayRef")


def ordered_targets(body: Any) -> frozenset[str]:
    """Variables and elements, as C text, whose new value on a trip needs the old one in the order of the trips.

    A sum, product, minimum or maximum of which nothing else in the loop makes use can be shared by lanes; ``t = t*x + a[i]``
    cannot, nor a sum that is stored on the way.
    """
    updates: dict[str, list[Any]] = {}
    for node in walk(body):
        target = _updated(node)
        if target is not None:
            updates.setdefault(c_text(target), []).append(node)
    return frozenset(target for target, found in updates.items() if _is_ordered(target, found, body))


def fresh_names(body: Any) -> frozenset[str]:
    """Variables that the statements of a loop's body set before they use them: each trip has its own."""
    fresh: set[str] = set()
    seen: set[str] = set()
    for statement in getattr(body, "block_items", None) or [body]:
        if type(statement).__name__ == "Assignment" and statement.op == "=" and type(statement.lvalue).__name__ == "ID":
            name = statement.lvalue.name
            if name not in seen | names_in(statement.rvalue):
                fresh.add(name)
        seen |= names_in(statement)
    return frozenset(fresh)


def _updated(node: Any) -> Any:
    """The variable or element that a node gives a value made of its old one; None: it is no such node."""
    kind = type(node).__name__
    if kind == "UnaryOp" and node.op in STEPS and type(node.expr).__name__ in TARGETS:
        return node.expr
    if kind == "Assignment" and type(node.lvalue).__name__ in TARGETS:
        target = c_text(node.lvalue)
        return node.lvalue if node.op != "=" or any(_uses(node.rvalue, target)) else None
    return None


def _is_ordered(target: str, updates: list[Any], body: Any) -> bool:
    classes = {_class_of(node, target) for node in updates}
    if None in classes or len(classes) > 1:
        return True
    steps = all(type(node).__name__ == "UnaryOp" or type(node.rvalue).__name__ == "Constant" for node in updates)
    if steps and classes == {"+"}:
        return False
    return sum(1 for _ in _uses(body, target)) > sum(1 for node in updates for _ in _uses(node, target))


def _uses(node: Any, target: str) -> Iterator[Any]:
    return (found for found in walk(node) if type(found).__name__ in TARGETS and c_text(found) == target)


def _class_of(node: Any, target: str) -> str | None:
    """Class of the operators by which a node updates its target; None where partial results cannot be joined."""
    if type(node).__name__ == "UnaryOp":
        return "+"
    if node.op != "=":
        return None if any(_uses(node.rvalue, target)) else CLASSES.get(node.op[:-1])
    return _class_of_value(node.rvalue, target)


def _class_of_value(value: Any, target: str) -> str | None:
    kind = type(value).__name__
    if kind == "TernaryOp":
        kept, changed = sorted((value.iftrue, value.iffalse), key=lambda part: c_text(part) != target)
        if c_text(kept) != target:
            return None
        return "?" if not any(_uses(changed, target)) else _class_of_value(changed, target)
    if kind != "BinaryOp" or value.op not in CLASSES:
        return None
    left, right = (any(_uses(side, target)) for side in (value.left, value.right))
    if left == right or (right and value.op == "-"):
        return None
    side = value.left if left else value.right
    own = CLASSES[value.op]
    if type(side).__name__ in TARGETS:
        return own
    return own if _class_of_value(side, target) == own else None
