"""Arithmetic and formula text as a small tree: read with a whitelist, printed as R prints it. Nothing is ever executed."""

from __future__ import annotations

import re
from functools import lru_cache

from mlperf.core.errors import UsageError
from mlperf.models.formula.number_format import number_text
from mlperf.models.formula.syntax import Binary, Call, Expression, Group, Name, Number, Signed

MAX_LENGTH = 100_000
MAX_DEPTH = 60
QUOTE_HINT = "A column whose name has blanks or marks stands in backquotes: log(`size [KiB]`)."

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d][\w.]*|\.[^\W\d][\w.]*|\.)"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<operator>\*\*|%in%|[-+*/^:~(),=]))"
)
# Binding strengths of R's grammar, weakest first; "^" binds to the right.
_STRENGTH = {"~": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%in%": 4, ":": 5, "^": 7}
_SIGN_STRENGTH = 6


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Read one expression or formula.

    Parameters
    ----------
    text : str
        For example ``"log(flops) + I(x^2)"`` or ``"y ~ a * b"``.

    Raises
    ------
    UsageError
        Where the text is not an expression; the message shows the place.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise UsageError(f"got {text!r}, expected a term or formula as text")
        if len(text) > MAX_LENGTH:
            raise UsageError(f"got an expression of {len(text)} characters, expected at most {MAX_LENGTH}")
        self.text = text
        self.tokens = self._split()
        self.position = 0
        self.depth = 0

    def _split(self) -> list[tuple[str, str, int]]:
        tokens = []
        at = 0
        while at < len(self.text.rstrip()):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise self._error(at, "an operator, a number or a name")
            kind = str(match.lastgroup)
            value = match.group(kind)
            tokens.append(("operator", "^", match.start(kind)) if value == "**" else (kind, value, match.start(kind)))
            at = match.end()
        return tokens

    def _error(self, at: int, expected: str) -> UsageError:
        shown = self.text[at : at + 12].strip() or "the end"
        got = f"got {shown!r} at character {at + 1}, expected {expected}"
        return UsageError(got, place=f"expression {self.text!r}", hint=QUOTE_HINT)

    def _peek(self) -> tuple[str, str, int]:
        if self.position < len(self.tokens):
            return self.tokens[self.position]
        return "end", "", len(self.text)

    def _is(self, operator: str) -> bool:
        kind, value, _ = self._peek()
        return kind == "operator" and value == operator

    def _take(self, operator: str) -> None:
        if not self._is(operator):
            raise self._error(self._peek()[2], f"{operator!r}")
        self.position += 1

    def whole(self) -> Expression:
        tree = self.expression(0)
        if self._peek()[0] != "end":
            raise self._error(self._peek()[2], "an operator or the end")
        return tree

    def expression(self, weakest: int) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(self._peek()[2], f"at most {MAX_DEPTH} levels of nesting")
        left = self.operand()
        while True:
            kind, operator, _ = self._peek()
            strength = _STRENGTH.get(operator, 0) if kind == "operator" else 0
            if strength == 0 or strength < weakest:
                self.depth -= 1
                return left
            self.position += 1
            left = Binary(operator, left, self.expression(strength if operator == "^" else strength + 1))

    def operand(self) -> Expression:
        kind, value, at = self._peek()
        if kind == "operator" and value in "+-~":
            self.position += 1
            return Signed(value, self.expression(2 if value == "~" else _SIGN_STRENGTH))
        if self._is("("):
            self.position += 1
            inner = self.expression(0)
            self._take(")")
            return Group(inner)
        self.position += 1
        if kind == "number":
            return Number(float(value))
        if kind == "quoted":
            return Name(value)
        if kind != "name":
            raise self._error(at, "a number, a name or '('")
        return self.call(value) if self._is("(") else Name(value)

    def call(self, function: str) -> Call:
        self._take("(")
        arguments: list[Expression] = []
        named: list[tuple[str, Expression]] = []
        while not self._is(")"):
            argument = self.expression(0)
            if self._is("=") and isinstance(argument, Name):
                self.position += 1
                named.append((argument.name, self.expression(0)))
            else:
                arguments.append(argument)
            if not self._is(")"):
                self._take(",")
        self._take(")")
        return Call(function, tuple(arguments), tuple(named))


ONE_LINE = 1_000_000
R_WORDS = frozenset(
    ["if", "else", "repeat", "while", "function", "for", "next", "break", "in", "TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"]
)
"""What no column may be called in R without backquotes."""
_SPACED = {"~", "+", "-", "*", "%in%"}


class _Writer:
    """R breaks a line after an operator or comma once it holds more than ``cutoff`` characters."""

    def __init__(self, cutoff: int, *, strict: bool) -> None:
        self.cutoff = cutoff
        self.strict = strict
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
            plain = _plain_name(tree.name) and not (self.strict and _is_taken(tree.name))
            self.write(tree.name if plain else f"`{tree.name}`")
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


def _is_taken(name: str) -> bool:
    """Whether R takes a plain name for something else, or for none."""
    return name.startswith("_") or name in R_WORDS


def lines(tree: Expression, cutoff: int = 60, *, strict: bool = False) -> list[str]:
    """The expression as R prints it, broken into lines of about ``cutoff`` characters; ``strict`` as `text` has it."""
    writer = _Writer(cutoff, strict=strict)
    writer.expression(tree)
    return writer.lines


def text(tree: Expression, *, strict: bool = False) -> str:
    """The expression as R prints it, on one line; ``strict``: R's own words and names that R takes for none in backquotes."""
    return lines(tree, ONE_LINE, strict=strict)[0]


def column_term(name: str) -> str:
    """The term that is a column alone: its name, in backquotes where it has blanks or marks (``"`size [KiB]`"``).

    Raises
    ------
    UsageError
        The name has a backquote, which nothing can quote.
    """
    if "`" in name:
        raise UsageError(f"got the column {name!r}, expected a name without backquotes", hint="Rename the column.")
    return text(Name(name))


__all__ = ["Binary", "Call", "Expression", "Group", "Name", "Number", "Signed", "column_term", "lines", "names", "parse", "text"]


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
