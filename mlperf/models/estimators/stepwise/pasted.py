"""A fitted sum of terms as text for other programs: R, statsmodels, a spreadsheet."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.models.estimators.stepwise.whole_numbers import NUMPY_LARGEST, R_LARGEST, in_fractions
from mlperf.models.formula.expressions import Expression, Name, names, parse, text
from mlperf.models.formula.syntax import Binary, Call, Group, Number, Signed
from mlperf.models.formula.terms import Terms, codings
from mlperf.models.formula.variables import Variable

PATSY_NAMES = ("C", "I", "Q", "np")
PATSY: Mapping[str, str] = MappingProxyType(
    {"log": "np.log", "log2": "np.log2", "log10": "np.log10", "log1p": "np.log1p", "sqrt": "np.sqrt", "exp": "np.exp"}
    | {"abs": "np.abs", "min": "np.minimum", "max": "np.maximum", "pmin": "np.minimum", "pmax": "np.maximum", "I": "I"}
)
SHEET: Mapping[str, str] = MappingProxyType(
    {"log": "LN({})", "log2": "LOG({},2)", "log10": "LOG10({})", "log1p": "LN(1+{})", "sqrt": "SQRT({})", "exp": "EXP({})"}
    | {"abs": "ABS({})", "min": "MIN({})", "max": "MAX({})", "pmin": "MIN({})", "pmax": "MAX({})"}
)
TRUTHS = ("TRUE", "FALSE")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|0[xX][0-9a-fA-F]+")
"""Labels that R reads as numbers."""
LONGEST_CELL = 8192
"""Letters that a formula may have in Excel."""


@dataclass(frozen=True, slots=True, eq=False)
class PastedFormulas(Shown):
    """A least-squares fit to paste elsewhere; empty texts where a program cannot say it, with the reason in ``notes``.

    Attributes
    ----------
    r : str
        A call of ``lm`` that fits the same terms again.
    statsmodels : str
        The same for ``statsmodels.formula.api``.
    spreadsheet : str
        The prediction of the row in line 2, all digits.
    cells : mapping of str to str
        Column letter of each name in it.
    notes : tuple of str
        What else must be known.
    """

    r: str
    statsmodels: str
    spreadsheet: str
    cells: Mapping[str, str]
    notes: tuple[str, ...]


def pasted_formulas(model: Any, target: str, scale: float = 1.0, others: Sequence[str] = ()) -> PastedFormulas:
    """Write a fitted `StepwiseOLS` for R, statsmodels and a spreadsheet.

    Parameters
    ----------
    model : StepwiseOLS
        Fitted, or read from a file.
    target : str
        Name of the response.
    scale : float
        Factor on predictions, which the spreadsheet applies.
    others : sequence of str
        Further columns of the table that the model was not given.
    """
    terms: Terms = model._fitted.terms
    relative = model.noise == "relative"
    notes: list[str] = []
    cells = {name: letters(place) for place, name in enumerate(term_columns(terms, model._fitted.offsets))}
    beside = (*map(str, getattr(model, "feature_names_in_", ())), *others)
    return PastedFormulas(
        r_call(model, target, relative=relative),
        _tried(lambda: statsmodels_call(model, target, relative=relative, others=beside), "statsmodels", notes),
        _tried(lambda: sheet_formula(model, cells, scale), "a spreadsheet", notes),
        cells,
        tuple(notes),
    )


def _tried(write: Callable[[], str], program: str, notes: list[str]) -> str:
    try:
        return write()
    except UsageError as error:
        notes.append(f"no formula for {program}: {error.message}")
        return ""


def term_columns(terms: Terms, offsets: Sequence[Expression]) -> list[str]:
    """Columns that the terms read, in the order in which they appear."""
    trees = [parse(name) for term in terms.terms for name in term.variables]
    return list(dict.fromkeys(name for tree in (*trees, *offsets) for name in names(tree)))


def letters(place: int) -> str:
    """Name of a spreadsheet's column, from 0: A, B, ..., Z, AA, ..."""
    return (letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def column_sizes(model: Any) -> dict[str, float]:
    """Largest magnitude of every column of numbers that the terms of a fitted model read."""
    domain = model.domain_
    ends = zip(domain.names[: domain.n_columns], domain.lower.tolist(), domain.upper.tolist(), strict=False)
    return {name: max(abs(lower), abs(upper)) for name, lower, upper in ends}


def r_call(model: Any, target: str, *, relative: bool) -> str:
    """``lm(time_s ~ I(m * n * k), weights = 1/time_s^2, data = data)``."""
    terms, offsets, sizes = model._fitted.terms, model._fitted.offsets, column_sizes(model)

    def written(tree: Expression) -> str:
        return text(in_fractions(_elementwise(tree), sizes, R_LARGEST), strict=True)

    name = text(Name(target), strict=True)
    entries = [":".join(written(_r_variable(terms.variables[each])) for each in term.variables) for term in terms.terms]
    entries += [f"offset({written(tree)})" for tree in offsets]
    right = (" + ".join(entries) or "1") + ("" if terms.intercept else " - 1")
    weights = f", weights = 1/{name}^2" if relative else ""
    return f"lm({name} ~ {right}{weights}, data = data)"


def _r_variable(variable: Variable) -> Expression:
    """A factor of labels that R would read as numbers is named as one."""
    tree = parse(variable.name)
    numbers = variable.kind == "factor" and any(map(NUMBER.fullmatch, variable.levels))
    return Call("factor", (tree,)) if numbers and isinstance(tree, Name) else tree


def _elementwise(tree: Expression) -> Expression:
    """The expression with R's pmin and pmax, which go row by row as min and max do here."""
    if isinstance(tree, Call):
        function = {"min": "pmin", "max": "pmax"}.get(tree.function, tree.function)
        return Call(function, tuple(_elementwise(each) for each in tree.arguments), tree.named)
    if isinstance(tree, Binary):
        return Binary(tree.operator, _elementwise(tree.left), _elementwise(tree.right))
    if isinstance(tree, Signed):
        return Signed(tree.operator, _elementwise(tree.operand))
    return Group(_elementwise(tree.inner)) if isinstance(tree, Group) else tree


def statsmodels_call(model: Any, target: str, *, relative: bool, others: Sequence[str] = ()) -> str:
    """``smf.wls("time_s ~ I(m * n * k)", data=data, weights=1 / data["time_s"] ** 2).fit(method="qr")``.

    The usual method of statsmodels drops a column that is 15 orders of magnitude smaller than another, as the constant is beside
    the FLOPs of a long step.

    Raises
    ------
    UsageError
        What patsy has no words for: an orthogonal polynomial, an offset, a column that hides one of its functions.
    """
    terms, offsets, sizes = model._fitted.terms, model._fitted.offsets, column_sizes(model)
    if offsets:
        raise UsageError("it has an offset; subtract it from the response first")
    entries = [":".join(_patsy_variable(terms.variables[name], sizes) for name in term.variables) for term in terms.terms]
    right = (" + ".join(entries) or "1") + ("" if terms.intercept else " - 1")
    formula = f"{_patsy(Name(target))} ~ {right}"
    read = (*term_columns(terms, offsets), target)
    for name in PATSY_NAMES:
        # Whatever the table has hides the function of that name from the formula.
        if name in read or (name in others and re.search(rf"\b{name}[.(]", formula)):
            raise UsageError(f"the column {name} hides a function of patsy; rename it")
    return (
        f"smf.wls({formula!r}, data=data, weights=1 / data[{target!r}] ** 2).fit(method='qr')"
        if relative
        else f"smf.ols({formula!r}, data=data).fit(method='qr')"
    )


def _patsy_variable(variable: Variable, sizes: Mapping[str, float]) -> str:
    tree = parse(variable.name)
    if variable.kind in ("basis", "ordered"):
        raise UsageError(f"{variable.name} is an orthogonal polynomial")
    if variable.is_factor:
        inner = tree.arguments[0] if isinstance(tree, Call) else tree
        return f"C({_patsy(inner)})"
    return _patsy(in_fractions(tree, sizes, NUMPY_LARGEST))


def _patsy(tree: Expression) -> str:
    """The expression in Python; whole numbers as fractions, so that powers of whole columns work."""
    if isinstance(tree, Number):
        return repr(float(tree.value))
    if isinstance(tree, Name):
        plain = tree.name.isidentifier() and not keyword.iskeyword(tree.name)
        return tree.name if plain else f"Q({tree.name!r})"
    if isinstance(tree, Group):
        return f"({_patsy(tree.inner)})"
    if isinstance(tree, Signed):
        return f"{tree.operator}{_patsy(tree.operand)}"
    if isinstance(tree, Call):
        if tree.function not in PATSY:
            raise UsageError(f"it has no function {tree.function}")
        return _nested(PATSY[tree.function], [_patsy(each) for each in tree.arguments])
    operator = {"^": "**"}.get(tree.operator, tree.operator)
    return f"{_patsy(tree.left)} {operator} {_patsy(tree.right)}"


def _nested(function: str, arguments: list[str]) -> str:
    """A call; of more than two arguments a call of calls, since NumPy's minimum takes two."""
    made = arguments[0]
    if len(arguments) == 1:
        return f"{function}({made})"
    for argument in arguments[1:]:
        made = f"{function}({made}, {argument})"
    return made


def sheet_formula(model: Any, cells: Mapping[str, str], scale: float) -> str:
    """The prediction as a cell's formula; UsageError: the terms have no words there."""
    fitted = model._fitted
    products = [""] if fitted.terms.intercept else []
    for term, coding in zip(fitted.terms.terms, term_codings(fitted.terms), strict=True):
        found = [""]
        for place, (name, full) in enumerate(zip(term.variables, coding, strict=True)):
            own = _sheet_pieces(fitted.terms.variables[name], cells, full=full)
            found = [f"{left}*{right}" if place else right for right in own for left in found]
        products += found
    parts = []
    for column, value in zip(fitted.kept.tolist(), fitted.spread.coef.tolist(), strict=True):
        product = f"*{products[column]}" if products[column] else ""
        parts.append(f"{'-' if value < 0 else '+'}{repr(abs(value)).upper()}{product}")
    parts += [f"+{_wrapped(tree, cells)}" for tree in fitted.offsets]
    total = "".join(parts).removeprefix("+") or "0"
    made = f"={total}" if scale == 1.0 else f"={scale!r}*({total})"
    if len(made) > LONGEST_CELL:
        raise UsageError(f"it would have {len(made):,} letters")
    return made


def term_codings(terms: Terms) -> list[tuple[bool, ...]]:
    """Of each term whether its factors have a column for every level."""
    return codings(terms.terms, terms.variables, intercept=terms.intercept)


def _sheet_pieces(variable: Variable, cells: Mapping[str, str], *, full: bool) -> list[str]:
    """The columns of a variable: one of numbers, a one or zero for each level of a factor."""
    tree = parse(variable.name)
    if variable.kind in ("basis", "ordered"):
        raise UsageError(f"{variable.name} is an orthogonal polynomial")
    if not variable.is_factor:
        inner = tree.arguments[0] if isinstance(tree, Call) and tree.function == "I" else tree
        return [_cell(inner, cells) if isinstance(inner, Binary) and inner.operator in "*/" else _wrapped(inner, cells)]
    label = tree.arguments[0] if isinstance(tree, Call) else tree
    if not isinstance(label, Name):
        raise UsageError(f"{variable.name} is a factor of an expression")
    levels = variable.levels if full or len(variable.levels) == 1 else variable.levels[1:]
    return [f"IF({_is_level(f'{cells[label.name]}2', level, variable.levels)},1,0)" for level in levels]


def _is_level(cell: str, level: str, levels: Sequence[str]) -> str:
    """Whether a cell holds a level; ``True`` and ``false`` are no texts any more once a spreadsheet has read them."""
    alike = [each for each in levels if each.upper() == level.upper()]
    if level.upper() not in TRUTHS or len(alike) > 1:
        return f"EXACT({cell},{_quoted(level)})"
    return f'OR({cell}={level.upper()}(),EXACT(UPPER({cell}),"{level.upper()}"))'


def _quoted(level: str) -> str:
    doubled = level.replace('"', '""')
    return f'"{doubled}"'


def _cell(tree: Expression, cells: Mapping[str, str]) -> str:
    """The expression with cells for columns; in a spreadsheet a sign binds more tightly than a power, so it stands in brackets."""
    if isinstance(tree, Number):
        return f"{tree.value:.17g}".upper()
    if isinstance(tree, Name):
        return f"{cells[tree.name]}2"
    if isinstance(tree, Group):
        return f"({_cell(tree.inner, cells)})"
    if isinstance(tree, Signed):
        return f"({tree.operator}{_wrapped(tree.operand, cells)})"
    if isinstance(tree, Call):
        if tree.function == "I":
            return _wrapped(tree.arguments[0], cells)
        if tree.function not in SHEET:
            raise UsageError(f"it has no function {tree.function}")
        return SHEET[tree.function].format(",".join(_cell(each, cells) for each in tree.arguments))
    if tree.operator == "^":
        return f"{_wrapped(tree.left, cells)}^{_wrapped(tree.right, cells)}"
    return f"{_cell(tree.left, cells)}{tree.operator}{_cell(tree.right, cells)}"


def _wrapped(tree: Expression, cells: Mapping[str, str]) -> str:
    """The same in brackets where it is more than one thing."""
    made = _cell(tree, cells)
    return f"({made})" if isinstance(tree, Binary) else made
