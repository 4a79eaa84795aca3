"""R's formula language: from ``y ~ a * b + offset(c)`` to an ordered list of terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mlperf.core.errors import UsageError
from mlperf.models.formula.expressions import Binary, Call, Expression, Group, Name, Number, Signed, names, parse, text
from mlperf.models.formula.term_algebra import Expander

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
    _check_functions(tree)
    if not names(tree):
        raise UsageError(f"got {text(tree)!r}, expected a term that reads at least one column")
    return text(tree)


def _check_functions(tree: Expression) -> None:
    """Refuse calls outside the whitelist and operators that are not arithmetic inside a call."""
    if isinstance(tree, Call):
        if tree.function not in FUNCTIONS:
            raise UsageError(f"got the function {tree.function!r}, expected one of {', '.join(FUNCTIONS)}")
        for argument in tree.arguments:
            _check_functions(argument)
    elif isinstance(tree, Binary):
        if tree.operator not in _ARITHMETIC:
            raise UsageError(f"got {tree.operator!r} in {text(tree)!r}, expected + - * / ^")
        _check_functions(tree.left)
        _check_functions(tree.right)
    elif isinstance(tree, Signed | Group):
        _check_functions(tree.operand if isinstance(tree, Signed) else tree.inner)


def parse_formula(source: str | Expression, columns: Sequence[str] = (), dot: Expression | None = None) -> Formula:
    """Read the text of a formula.

    Parameters
    ----------
    source : str
        With or without a left side.
    columns : sequence of str
        The frame's columns: what ``.`` stands for (without the response).
    dot : Expression, optional
        Another formula's right side for ``.``, as in R's ``update``.

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
            _check_functions(response)
    elif isinstance(tree, Signed) and tree.operator == "~":
        right = tree.operand
    expander = Expander(columns, response, dot, _variable_text)
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
