"""R's formula language: from ``y ~ a * b + offset(c)`` to an ordered list of terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mlperf.core.errors import UsageError
from mlperf.models.expressions import Binary, Call, Expression, Group, Name, Number, Signed, names, parse, text

# What a term may compute; ``poly`` and ``factor`` make several columns, ``offset`` is no term.
ELEMENTWISE = ("log", "log2", "log10", "log1p", "sqrt", "exp", "abs", "I", "min", "max", "pmin", "pmax")
FUNCTIONS = (*ELEMENTWISE, "poly", "factor")
_ARITHMETIC = {"+", "-", "*", "/", "^"}


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a model: the variables whose product it is.

    Parameters
    ----------
    variables : tuple of str
        Variables in R's text (``"kind"``, ``"log(flops)"``), in the order in which the formula names them.
        Empty for the constant.
    """

    variables: tuple[str, ...]

    @property
    def name(self) -> str:
        """R's label, ``kind:log(flops)``; ``1`` for the constant."""
        return ":".join(self.variables) or "1"

    @property
    def order(self) -> int:
        """Number of variables: 1 for a main effect."""
        return len(self.variables)

    @property
    def key(self) -> frozenset[str]:
        """What makes two terms the same: their variables in any order."""
        return frozenset(self.variables)


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula taken apart.

    Parameters
    ----------
    response : Expression or None
        Left side.
    terms : tuple of Term
        By order (main effects first), then by appearance; without the constant.
    intercept : bool
    offsets : tuple of Expression
        The arguments of ``offset()``.
    tree : Expression
        The formula as written, for printing.
    """

    response: Expression | None
    terms: tuple[Term, ...]
    intercept: bool
    offsets: tuple[Expression, ...]
    tree: Expression


def parse_term(source: str) -> Term:
    """Read one entry of a term list.

    A bare name is that column (a factor if its values are categories), ``a:b`` an interaction, a call such as
    ``log2(n)`` or ``poly(b, 3)`` itself; other arithmetic is R's ``I()``: ``m*n*k`` reads ``I(m * n * k)``.
    ``1`` is the constant.

    Parameters
    ----------
    source : str

    Returns
    -------
    Term

    Raises
    ------
    UsageError
        Where the text is no term or calls a function outside the whitelist.
    """
    tree = parse(source)
    parts = []
    while isinstance(tree, Binary) and tree.operator == ":":
        parts.append(tree.right)
        tree = tree.left
    parts.append(tree)
    found: dict[str, None] = {}
    for part in reversed(parts):
        inner = part
        while isinstance(inner, Group):
            inner = inner.inner
        if inner == Number(1.0) and len(parts) == 1:
            return Term(())
        found[_variable_text(inner)] = None
    return Term(tuple(found))


def _variable_text(tree: Expression) -> str:
    if isinstance(tree, Name):
        return text(tree)
    if not isinstance(tree, Call):
        tree = Call("I", (tree,))
    check_functions(tree)
    if not names(tree):
        raise UsageError(f"got {text(tree)!r}, expected a term that reads at least one column")
    return text(tree)


def check_functions(tree: Expression) -> None:
    """Refuse calls outside the whitelist and operators that are not arithmetic inside a call.

    Raises
    ------
    UsageError
        Naming the function and the alternatives.
    """
    if isinstance(tree, Call):
        if tree.function not in FUNCTIONS:
            raise UsageError(f"got the function {tree.function!r}, expected one of {', '.join(FUNCTIONS)}")
        for argument in tree.arguments:
            check_functions(argument)
    elif isinstance(tree, Binary):
        if tree.operator not in _ARITHMETIC:
            raise UsageError(f"got {tree.operator!r} in {text(tree)!r}, expected + - * / ^")
        check_functions(tree.left)
        check_functions(tree.right)
    elif isinstance(tree, Signed | Group):
        check_functions(tree.operand if isinstance(tree, Signed) else tree.inner)


def parse_formula(source: str | Expression, columns: Sequence[str] = (), dot: Expression | None = None) -> Formula:
    """Read a formula.

    Parameters
    ----------
    source : str
        With or without a left side.
    columns : sequence of str
        The frame's columns: what ``.`` stands for (without the response).
    dot : Expression, optional
        Another formula's right side for ``.``, as in R's ``update``.

    Returns
    -------
    Formula

    Raises
    ------
    UsageError
        Where the text is not a formula.
    """
    tree = parse(source) if isinstance(source, str) else source
    response, right = None, tree
    if isinstance(tree, Binary) and tree.operator == "~":
        response, right = tree.left, tree.right
        if response == Name("."):
            response = None
        else:
            check_functions(response)
    elif isinstance(tree, Signed) and tree.operator == "~":
        right = tree.operand
    expander = _Expander(columns, response, dot)
    keys = expander.expand(right)
    return Formula(
        response,
        ordered_terms(Term(appearance) for appearance in keys.values()),
        not expander.no_constant,
        tuple(expander.offsets),
        tree,
    )


def ordered_terms(terms: Iterable[Term], order: Sequence[str] = ()) -> tuple[Term, ...]:
    """Terms by interaction order, then as given; variables inside a term by first appearance.

    Parameters
    ----------
    terms : iterable of Term
    order : sequence of str
        Variables whose order is known beforehand.
    """
    wanted = list(terms)
    rank: dict[str, int] = {name: position for position, name in enumerate(order)}
    for term in wanted:
        for name in term.variables:
            rank.setdefault(name, len(rank))
    labelled = [Term(tuple(sorted(term.variables, key=rank.__getitem__))) for term in wanted if term.variables]
    return tuple(sorted(dict.fromkeys(labelled), key=lambda term: term.order))


# A set of terms that remembers its order: the variables as a set, and in their order of appearance.
Keys: TypeAlias = dict[frozenset[str], tuple[str, ...]]


def _entry(variables: Iterable[str]) -> Keys:
    appearance = tuple(dict.fromkeys(variables))
    return {frozenset(appearance): appearance}


class _Expander:
    """Expand ``+ - : * ^ /`` and parentheses into a set of terms that remembers its order."""

    def __init__(self, columns: Sequence[str], response: Expression | None, dot: Expression | None) -> None:
        hidden = set(names(response)) if response is not None else set()
        self.columns = [name for name in columns if name not in hidden]
        self.dot = dot
        self.no_constant = False
        self.offsets: list[Expression] = []

    def expand(self, tree: Expression) -> Keys:
        spine: list[Binary] = []
        while isinstance(tree, Binary) and tree.operator in "+-":
            spine.append(tree)
            tree = tree.left
        keys = self.leaf(tree)
        for node in reversed(spine):
            keys = self.minus(keys, node.right) if node.operator == "-" else _merged(keys, self.plus(node.right))
        return keys

    def plus(self, tree: Expression) -> Keys:
        if tree == Number(1.0):
            self.no_constant = False
        return self.leaf(tree)

    def minus(self, keys: Keys, tree: Expression) -> Keys:
        if tree in (Number(0.0), Number(1.0)):
            self.no_constant = tree == Number(1.0)
            return keys
        removed = self.expand(tree)
        return {key: appearance for key, appearance in keys.items() if key not in removed}

    def leaf(self, tree: Expression) -> Keys:
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
        return _entry([_variable_text(tree)])

    def constant(self, tree: Number) -> Keys:
        if tree.value not in (0.0, 1.0):
            raise UsageError(f"got the number {text(tree)} as a term, expected 0, 1 or a term; arithmetic belongs into I()")
        self.no_constant = tree.value == 0.0
        return {}

    def offset(self, tree: Call) -> Keys:
        if len(tree.arguments) != 1:
            raise UsageError(f"got {text(tree)!r}, expected offset() with one argument")
        self.offsets.append(tree.arguments[0])
        return {}

    def product(self, tree: Binary) -> Keys:
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
