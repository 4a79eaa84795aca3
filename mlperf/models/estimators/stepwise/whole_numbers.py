"""Terms for programs whose whole numbers end: R's after 31 bits, NumPy's after 63."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from mlperf.models.formula.syntax import Binary, Call, Expression, Group, Name, Number, Signed

R_LARGEST, NUMPY_LARGEST = 2.0**31 - 1.0, 2.0**63 - 1.0
"""R makes a missing value of what lies beyond, and ``lm`` leaves such rows out; NumPy begins again at the smallest number."""
WHOLE_CALLS = ("I", "abs", "min", "max", "pmin", "pmax")
"""Functions that keep whole numbers whole."""


def in_fractions(tree: Expression, sizes: Mapping[str, float], largest: float) -> Expression:
    """The expression with a ``1 *`` where a product or sum of whole columns might end beyond the largest whole number.

    Parameters
    ----------
    tree : Expression
        Its numbers count as fractions, as they do in R, and where they are written with a point.
    sizes : mapping of str to float
        Largest magnitude of each column; one that is not named may hold anything.
    largest : float
        Of the program's whole numbers.
    """
    if isinstance(tree, Binary):
        size = _whole_size(tree, sizes)
        left = _as_fraction(tree.left, sizes, largest) if size is not None and size > largest else None
        return Binary(tree.operator, left or in_fractions(tree.left, sizes, largest), in_fractions(tree.right, sizes, largest))
    if isinstance(tree, Signed):
        return Signed(tree.operator, in_fractions(tree.operand, sizes, largest))
    if isinstance(tree, Group):
        return Group(in_fractions(tree.inner, sizes, largest))
    if isinstance(tree, Call):
        return Call(tree.function, tuple(in_fractions(each, sizes, largest) for each in tree.arguments), tree.named)
    return tree


def _as_fraction(tree: Expression, sizes: Mapping[str, float], largest: float) -> Expression:
    """A whole expression as a fraction: its first column times 1."""
    if isinstance(tree, Binary):
        return Binary(tree.operator, _as_fraction(tree.left, sizes, largest), in_fractions(tree.right, sizes, largest))
    if isinstance(tree, Signed):
        return Signed(tree.operator, _as_fraction(tree.operand, sizes, largest))
    if isinstance(tree, Group):
        return Group(_as_fraction(tree.inner, sizes, largest))
    if isinstance(tree, Call):
        first, *others = tree.arguments
        rest = (in_fractions(each, sizes, largest) for each in others)
        return Call(tree.function, (_as_fraction(first, sizes, largest), *rest), tree.named)
    return Binary("*", Number(1.0), tree)


def _whole_size(tree: Expression, sizes: Mapping[str, float]) -> float | None:
    """The largest magnitude that a whole expression may have; None where its values are fractions."""
    if isinstance(tree, Name):
        return sizes.get(tree.name, inf)
    if isinstance(tree, Signed):
        return _whole_size(tree.operand, sizes)
    if isinstance(tree, Group):
        return _whole_size(tree.inner, sizes)
    if isinstance(tree, Call):
        inner = [_whole_size(each, sizes) for each in tree.arguments] if tree.function in WHOLE_CALLS else [None]
        return None if None in inner else max(each for each in inner if each is not None)
    if isinstance(tree, Binary) and tree.operator in "+-*":
        left, right = _whole_size(tree.left, sizes), _whole_size(tree.right, sizes)
        if left is None or right is None:
            return None
        return left * right if tree.operator == "*" else left + right
    return None
