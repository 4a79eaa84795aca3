"""The tree of an expression: what terms and formulas are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a formula."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """A column of the frame."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the whitelist applied to arguments; ``named`` holds ``key = constant`` pairs."""

    function: str
    arguments: tuple[Expression, ...]
    named: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True, slots=True)
class Signed:
    """Plus or minus in front of an operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands and one of ``^ : %in% * / + - ~``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Group:
    """Parentheses, kept because R prints them."""

    inner: Expression


Expression: TypeAlias = Number | Name | Call | Signed | Binary | Group
