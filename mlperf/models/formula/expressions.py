"""Arithmetic and formula text as a small tree: read with a whitelist, printed as R prints it. Nothing is ever executed."""

from __future__ import annotations

from mlperf.models.formula.deparse import lines, text
from mlperf.models.formula.parsing import parse
from mlperf.models.formula.syntax import Binary, Call, Expression, Group, Name, Number, Signed

__all__ = ["Binary", "Call", "Expression", "Group", "Name", "Number", "Signed", "lines", "names", "parse", "text"]


def names(tree: Expression) -> list[str]:
    """Columns that the expression reads, each once, in order of appearance."""
    found: dict[str, None] = {}
    stack: list[Expression] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Name):
            found[node.name] = None
        elif isinstance(node, Binary):
            stack += [node.right, node.left]
        elif isinstance(node, Signed):
            stack.append(node.operand)
        elif isinstance(node, Group):
            stack.append(node.inner)
        elif isinstance(node, Call):
            stack += reversed(node.arguments)
    return list(found)
