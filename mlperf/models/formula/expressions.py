"""Arithmetic and formula text as a small tree: read with a whitelist, printed as R prints it. Nothing is ever executed."""

from __future__ import annotations

import re

from mlperf.models.formula.number_format import number_text
from mlperf.models.formula.parsing import parse
from mlperf.models.formula.syntax import Binary, Call, Expression, Group, Name, Number, Signed

ONE_LINE = 1_000_000
_SPACED = {"~", "+", "-", "*", "%in%"}


class _Writer:
    """R breaks a line after an operator or comma once it holds more than ``cutoff`` characters."""

    def __init__(self, cutoff: int) -> None:
        self.cutoff = cutoff
        self.lines = [""]

    def write(self, text: str) -> None:
        self.lines[-1] += text

    def break_if_long(self) -> None:
        if len(self.lines[-1]) > self.cutoff:
            self.lines.append("    ")

    def expression(self, tree: Expression) -> None:
        if isinstance(tree, Binary):
            self.chain(tree)
        elif isinstance(tree, Number):
            self.write(number_text(tree.value))
        elif isinstance(tree, Name):
            self.write(tree.name if _plain_name(tree.name) else f"`{tree.name}`")
        elif isinstance(tree, Signed):
            self.write(tree.operator)
            self.expression(tree.operand)
        elif isinstance(tree, Group):
            self.write("(")
            self.expression(tree.inner)
            self.write(")")
        else:
            self.call(tree)

    def chain(self, tree: Binary) -> None:
        spine: list[Binary] = []
        left: Expression = tree
        while isinstance(left, Binary):
            spine.append(left)
            left = left.left
        self.expression(left)
        for node in reversed(spine):
            if node.operator in _SPACED:
                self.write(f" {node.operator} ")
                self.break_if_long()
            else:
                self.write(node.operator)
            self.expression(node.right)

    def call(self, tree: Call) -> None:
        self.write(f"{tree.function}(")
        for position, argument in enumerate(tree.arguments):
            if position:
                self.write(", ")
                self.break_if_long()
            self.expression(argument)
        for position, (key, argument) in enumerate(tree.named):
            self.write(f", {key} = " if position or tree.arguments else f"{key} = ")
            self.expression(argument)
        self.write(")")


def _plain_name(name: str) -> bool:
    return name == "." or re.fullmatch(r"(?:[^\W\d]|\.(?!\d))[\w.]*", name) is not None


def lines(tree: Expression, cutoff: int = 60) -> list[str]:
    """The expression as R prints it, broken into lines of about ``cutoff`` characters."""
    writer = _Writer(cutoff)
    writer.expression(tree)
    return writer.lines


def text(tree: Expression) -> str:
    """The expression as R prints it, on one line."""
    return lines(tree, ONE_LINE)[0]


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
