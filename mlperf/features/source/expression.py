"""Subscripts and bounds written as text: ``i``, ``2*i+1``, ``i*n + j``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType

from mlperf.core.errors import DataError
from mlperf.features.source.polynomial import Polynomial

HINT = "Sums and whole multiples of loop indices and sizes, such as i, 2*i+1 or i*n+j."

OPERATORS: Mapping[type[ast.operator], Callable[[Polynomial, Polynomial], Polynomial]] = MappingProxyType(
    {ast.Add: Polynomial.__add__, ast.Sub: Polynomial.__sub__, ast.Mult: Polynomial.__mul__}
)


def parse_expression(text: str | int, place: str) -> Polynomial:
    """The polynomial that a text or whole number stands for.

    Raises
    ------
    DataError
        Not a sum of products of names and whole numbers; names the place and the column in the text.
    """
    try:
        tree = ast.parse(str(text).strip(), mode="eval").body
    except SyntaxError as error:
        raise DataError(f"got {text!r}, expected an expression", place=f"{place}, column {error.offset}", hint=HINT) from error
    return _polynomial(tree, str(text), place)


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
