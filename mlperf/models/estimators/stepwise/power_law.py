"""A fitted power law as a formula to read and to paste."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.models.estimators.stepwise.log_stepwise import LogStepwiseOLS
from mlperf.models.estimators.stepwise.pasted import letters, r_call, sheet_formula, term_codings, term_columns
from mlperf.models.formula.expressions import Expression, Name, parse, text
from mlperf.models.formula.syntax import Call
from mlperf.models.formula.terms import Terms

DIGITS = 8
"""Of the formula to read: exponents times logarithms of large sizes keep a millionth."""


@dataclass(frozen=True, slots=True, eq=False)
class PowerLaw(Shown):
    """A fit of the logarithm as a formula.

    Attributes
    ----------
    formula : str
        ``time_s = 3.1e-05 * m^0.9 * n^0.8``, and the factor of each level of a label in a line of its own.
    r : str
        A call of ``lm`` that fits the same terms again; its predictions are medians of logarithms.
    spreadsheet : str
        The prediction of the row in line 2, all digits; empty where a spreadsheet has no words for it.
    cells : mapping of str to str
        Column letter of each name in it.
    """

    formula: str
    r: str
    spreadsheet: str
    cells: Mapping[str, str]


def power_law(model: LogStepwiseOLS, target: str, scale: float = 1.0) -> PowerLaw:
    """Write a fitted power law as formulas whose values are its predictions.

    Parameters
    ----------
    model : LogStepwiseOLS
        Fitted, or read from a file.
    target : str
        Name of the response.
    scale : float
        Factor on predictions beside that of smearing.
    """
    inner = model.model_
    terms: Terms = inner._fitted.terms
    factor = scale * model.smearing_
    cells = {name: letters(place) for place, name in enumerate(term_columns(terms, inner._fitted.offsets))}
    try:
        sheet = f"={repr(factor).upper()}*EXP({sheet_formula(inner, cells, 1.0).removeprefix('=')})"
    except UsageError:
        sheet = ""
    named = text(Name(target), strict=True)
    fitted_again = r_call(inner, target, relative=False).replace(f"lm({named} ~", f"lm(log({named}) ~", 1)
    return PowerLaw(_formula(model, target, factor), fitted_again, sheet, cells)


def _formula(model: LogStepwiseOLS, target: str, factor: float) -> str:
    """The product of powers, then one line for each level that has factors of its own."""
    fitted = model.model_._fitted
    products = _products(fitted.terms)
    constant, common = math.log(factor), []
    levels: dict[tuple[str, ...], list[str]] = {}
    for column, value in zip(fitted.kept.tolist(), fitted.spread.coef.tolist(), strict=True):
        numbers, marks = products[column]
        if not numbers and not marks:
            constant += value
        elif marks:
            levels.setdefault(marks, []).append(_factor(numbers, value))
        else:
            common.append(_factor(numbers, value))
    lines = [f"{text(Name(target))} = {' * '.join([_digits(math.exp(constant)), *common])}"]
    lines += [f"  * {' * '.join(factors)} where {' and '.join(marks)}" for marks, factors in levels.items()]
    return "\n".join(lines)


def _products(terms: Terms) -> list[tuple[tuple[Expression, ...], tuple[str, ...]]]:
    """Of each column of the design the expressions that it multiplies, and the levels for which it is not zero."""
    found: list[tuple[tuple[Expression, ...], tuple[str, ...]]] = [((), ())] if terms.intercept else []
    for term, coding in zip(terms.terms, term_codings(terms), strict=True):
        own: list[tuple[tuple[Expression, ...], tuple[str, ...]]] = [((), ())]
        for name, full in zip(term.variables, coding, strict=True):
            variable = terms.variables[name]
            tree = parse(variable.name)
            if not variable.is_factor:
                own = [((*numbers, tree), marks) for numbers, marks in own]
                continue
            levels = variable.levels if full or len(variable.levels) == 1 else variable.levels[1:]
            own = [(numbers, (*marks, f"{text(tree)} is {level}")) for level in levels for numbers, marks in own]
        found += own
    return found


def _factor(numbers: tuple[Expression, ...], value: float) -> str:
    """``m^0.9`` of log(m), ``exp(0.1*log(m)*log(n))`` of a product, a number of nothing."""
    if not numbers:
        return _digits(math.exp(value))
    alone = numbers[0]
    if len(numbers) == 1 and isinstance(alone, Call) and alone.function == "log" and isinstance(alone.arguments[0], Name):
        return f"{text(alone.arguments[0])}^{_digits(value) if value >= 0.0 else f'({_digits(value)})'}"
    return f"exp({_digits(value)}*{'*'.join(text(_bare(each)) for each in numbers)})"


def _bare(tree: Expression) -> Expression:
    return tree.arguments[0] if isinstance(tree, Call) and tree.function == "I" else tree


def _digits(value: float) -> str:
    return f"{value:.{DIGITS}g}"
