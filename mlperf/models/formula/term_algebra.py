"""R's operators on sets of terms: sum, interaction, crossing, nesting, power, removal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from mlperf.core.errors import UsageError
from mlperf.models.formula.expressions import Binary, Call, Expression, Group, Name, Number, Signed, names, text

# A set of terms that remembers its order: the variables as a set, and in their order of appearance.
Keys: TypeAlias = dict[frozenset[str], tuple[str, ...]]


def _entry(variables: Iterable[str]) -> Keys:
    appearance = tuple(dict.fromkeys(variables))
    return {frozenset(appearance): appearance}


class Expander:
    """Expand ``+ - : * ^ /`` and parentheses into a set of terms that remembers its order.

    Parameters
    ----------
    columns : sequence of str
        What ``.`` stands for, without the response's.
    response : Expression or None
    dot : Expression or None
        Another formula's right side for ``.``.
    variable : callable
        R's text of a leaf; refuses what is no variable.
    """

    def __init__(
        self, columns: Sequence[str], response: Expression | None, dot: Expression | None, variable: Callable[[Expression], str]
    ) -> None:
        hidden = set(names(response)) if response is not None else set()
        self.columns = [name for name in columns if name not in hidden]
        self.dot = dot
        self.variable = variable
        self.no_constant = False
        self.offsets: list[Expression] = []

    def expand(self, tree: Expression) -> Keys:
        """Terms of a right side."""
        spine: list[Binary] = []
        while isinstance(tree, Binary) and tree.operator in "+-":
            spine.append(tree)
            tree = tree.left
        keys = self.leaf(tree)
        for node in reversed(spine):
            keys = self.minus(keys, node.right) if node.operator == "-" else _merged(keys, self.plus(node.right))
        return keys

    def plus(self, tree: Expression) -> Keys:
        """Terms that a summand adds; ``+ 1`` brings the constant back."""
        if tree == Number(1.0):
            self.no_constant = False
        return self.leaf(tree)

    def minus(self, keys: Keys, tree: Expression) -> Keys:
        """Terms without those of ``tree``; ``- 1`` removes the constant."""
        if tree in (Number(0.0), Number(1.0)):
            self.no_constant = tree == Number(1.0)
            return keys
        removed = self.expand(tree)
        return {key: appearance for key, appearance in keys.items() if key not in removed}

    def leaf(self, tree: Expression) -> Keys:
        """Terms of something that is no sum."""
        if isinstance(tree, Group):
            return self.expand(tree.inner)
        if isinstance(tree, Number):
            return self.constant(tree)
        if isinstance(tree, Signed):
            return self.minus({}, tree.operand) if tree.operator == "-" else self.expand(tree.operand)
        if isinstance(tree, Binary):
            return self.product(tree)
        if isinstance(tree, Call) and tree.function == "offset":
            return self.offset(tree)
        if tree == Name("."):
            return (
                self.expand(self.dot)
                if self.dot is not None
                else {key: value for name in self.columns for key, value in _entry([text(Name(name))]).items()}
            )
        return _entry([self.variable(tree)])

    def constant(self, tree: Number) -> Keys:
        """0 removes the constant, 1 asks for it; neither is a term."""
        if tree.value not in (0.0, 1.0):
            raise UsageError(f"got the number {text(tree)} as a term, expected 0, 1 or a term; arithmetic belongs into I()")
        self.no_constant = tree.value == 0.0
        return {}

    def offset(self, tree: Call) -> Keys:
        """Remember the argument of ``offset()``, which is no term."""
        if len(tree.arguments) != 1:
            raise UsageError(f"got {text(tree)!r}, expected offset() with one argument")
        self.offsets.append(tree.arguments[0])
        return {}

    def product(self, tree: Binary) -> Keys:
        """Terms of ``a:b``, ``a*b``, ``a/b``, ``a %in% b`` and powers."""
        if tree.operator == "^":
            return self.power(tree)
        if tree.operator not in (":", "*", "/", "%in%"):
            raise UsageError(f"got {tree.operator!r} in {text(tree)!r}, expected a sum of terms")
        left, right = self.expand(tree.left), self.expand(tree.right)
        if tree.operator in (":", "%in%"):
            return _crossed(left, right)
        if tree.operator == "/":
            nest = _entry(name for appearance in left.values() for name in appearance)
            return _merged(left, _crossed(nest, right))
        return _merged(_merged(left, right), _crossed(left, right))

    def power(self, tree: Binary) -> Keys:
        """All interactions up to an order: ``(a + b)^2``."""
        exponent = tree.right.value if isinstance(tree.right, Number) else 0.0
        if exponent < 1 or exponent != int(exponent) or exponent > 10:
            raise UsageError(f"got {text(tree)!r}, expected a whole power 1 to 10; x^2 itself is I(x^2)")
        base = self.expand(tree.left)
        keys = base
        for _ in range(int(exponent) - 1):
            keys = _merged(keys, _crossed(keys, base))
        return keys


def _crossed(left: Keys, right: Keys) -> Keys:
    found: Keys = {}
    for a in left.values():
        for b in right.values():
            found = _merged(found, _entry((*a, *b)))
    return found


def _merged(left: Keys, right: Keys) -> Keys:
    """Both, in order; a term of both keeps the first's order of variables."""
    return {**left, **{key: appearance for key, appearance in right.items() if key not in left}}
