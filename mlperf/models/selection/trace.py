"""A search as tables (``trace_``, ``path_``) and as the text that R's ``step`` prints, with R's labels of its terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.formula.formula import Term, ordered_terms
from mlperf.models.formula.number_format import format_number, format_real, zap_small
from mlperf.models.selection.search import Point, Selection, Table


def after_drop(current: Sequence[Term], key: frozenset[str]) -> list[Term]:
    """Terms of the model without one, labelled anew."""
    return list(ordered_terms(term for term in current if term.key != key))


def after_add(current: Sequence[Term], added: Term) -> list[Term]:
    """Terms of the model with one more, by interaction order, labelled as R does when it reads its own formula again."""
    return list(ordered_terms(ordered_terms([*current, added])))


def model_labels(
    start: Sequence[Term], added: Mapping[int, Term], ids: Mapping[frozenset[str], int], refits: Sequence[Point]
) -> tuple[list[dict[int, str]], list[tuple[str, ...]]]:
    """Labels of every model on the way: in tables and coefficients, and in the printed formula.

    R prints a new formula with the labels of the old one and reads it again afterwards, which may turn an interaction round.

    Parameters
    ----------
    start : sequence of Term
        As the first formula names them.
    added : mapping of int to Term
        Terms of the upper scope as it names them, by id.
    ids : mapping of frozenset to int
        Id of each term by its variables.
    refits : sequence of Point

    Returns
    -------
    tables : list of dict
        One a refit: label of each term id, in the order of the model's formula.
    formulas : list of tuple of str
        One a refit: labels in the printed formula.
    """
    keys = {number: key for key, number in ids.items()}
    current = list(start)
    tables, formulas = [], []
    for number, point in enumerate(refits):
        printed: Sequence[Term] = current
        if number and point.sign < 0:
            printed = [term for term in current if term.key != keys[point.term]]
            current = after_drop(current, keys[point.term])
        elif number:
            printed = ordered_terms([*current, added[point.term]])
            current = after_add(current, added[point.term])
        tables.append({ids[term.key]: term.name for term in current})
        formulas.append(tuple(term.name for term in printed))
    return tables, formulas


PRINT_WIDTH = 80
# R prints tests and criteria of a table to five significant digits.
DIGITS = 5
_SIGN = {-1: "- ", 1: "+ "}


# Label of a candidate: number of the refit whose neighbours the table lists, sign, term id.
Label: TypeAlias = Callable[[int, int, int], str]


def trace_frame(selection: Selection, label: Label) -> pd.DataFrame:
    """Every table of candidates that the search looked at.

    Parameters
    ----------
    selection : Selection
    label : callable
        Label of a candidate from the number of the refit, the sign and the term's id.

    Returns
    -------
    DataFrame
        Columns ``step`` (number of the table, from 1), ``term`` (``<none>``, ``- a``, ``+ b``), ``df``, ``sum_sq``, ``rss``,
        ``aic`` (the criterion); within a step in printed order, smallest criterion first.
    """
    parts = []
    for number, table in enumerate(selection.tables, 1):
        terms, df, sum_sq, rss, values = _rows(table, number - 1, label)
        order = _order(values) if table.shown else np.arange(len(terms))
        columns = {"step": number, "term": terms, "df": df, "sum_sq": sum_sq, "rss": rss, "aic": values}
        parts.append(pd.DataFrame(columns).iloc[order])
    if not parts:
        return pd.DataFrame({name: pd.Series(dtype="float64") for name in ("step", "term", "df", "sum_sq", "rss", "aic")})
    return pd.concat(parts, ignore_index=True)


def path_frame(selection: Selection, label: Label) -> pd.DataFrame:
    """The path as R's ``anova`` of a ``step`` result: Step, Df, Deviance, Resid. Df, Resid. Dev and the criterion."""
    points = selection.path
    rss = np.array([point.rss for point in points])
    df_resid = np.array([float(point.n_weighted - point.edf) for point in points])
    return pd.DataFrame(
        {
            "Step": [_step_name(point, number, label) for number, point in enumerate(points)],
            "Df": np.concatenate([[np.nan], np.diff(df_resid)]),
            "Deviance": np.concatenate([[np.nan], np.abs(np.diff(rss))]),
            "Resid. Df": df_resid,
            "Resid. Dev": rss,
            selection.criterion.title: [point.value for point in points],
        }
    )


def trace_text(selection: Selection, label: Label, formula_lines: Callable[[int], list[str]]) -> str:
    """What R's ``step(trace = 1)`` prints.

    Parameters
    ----------
    selection : Selection
    label : callable
        Label of a candidate from the number of the refit, the sign and the term's id.
    formula_lines : callable
        Lines of the formula of refit number i (0 the start).

    Returns
    -------
    str
        Lines joined by newlines.
    """
    lines: list[str] = []
    for number, point in enumerate(selection.refits):
        heading = "Step:  AIC=" if number else "Start:  AIC="
        lines += (
            ["", heading + format_number(round(point.value, 2))] if number else [heading + format_number(round(point.value, 2))]
        )
        lines += [*formula_lines(number), ""]
        if number < len(selection.tables) and selection.tables[number].shown:
            lines += table_lines(selection.tables[number], number, label, selection.criterion.title)
    return "\n".join(lines)


def table_lines(table: Table, number: int, label: Label, title: str) -> list[str]:
    """One table of candidates as R prints it, smallest criterion first."""
    terms, df, sum_sq, rss, values = _rows(table, number, label)
    kept = [row for row in _order(values) if np.isnan(df[row]) or df[row] != 0]
    columns = {
        "Df": format_real(df[kept], DIGITS),
        "Sum of Sq": _formatted(sum_sq[kept]),
        "RSS": _formatted(rss[kept]),
        title: format_real(np.round(values[kept], 4), DIGITS) if title == "Cp" else _formatted(values[kept]),
    }
    return matrix_lines([terms[row] for row in kept], columns)


def matrix_lines(rows: Sequence[str], columns: dict[str, list[str]]) -> list[str]:
    """A character matrix as R prints it: labels to the left, cells to the right, NA blank, wrapped at 80 characters."""
    label_width = max((len(row) for row in rows), default=0)
    blocks: list[list[str]] = []
    width = PRINT_WIDTH + 1
    for name, raw in columns.items():
        cells = ["" if cell == "NA" else cell for cell in raw]
        cell_width = max([len(name), *map(len, cells)])
        if width + cell_width + 1 > PRINT_WIDTH:
            blocks.append([" " * label_width, *(row.ljust(label_width) for row in rows)])
            width = label_width
        width += cell_width + 1
        blocks[-1] = [f"{line} {cell.rjust(cell_width)}" for line, cell in zip(blocks[-1], [name, *cells], strict=True)]
    return [line for block in blocks for line in block]


def _formatted(values: FloatArray) -> list[str]:
    return format_real(zap_small([float(value) for value in values], DIGITS), DIGITS)


def _rows(table: Table, number: int, label: Label) -> tuple[list[str], FloatArray, FloatArray, FloatArray, FloatArray]:
    labels = [
        "<none>",
        *(_SIGN[int(sign)] + label(number, int(sign), int(term)) for sign, term in zip(table.signs, table.terms, strict=True)),
    ]
    df = np.concatenate([[np.nan], table.df.astype(np.float64)])
    sum_sq = np.concatenate([[np.nan], table.sum_sq])
    rss = np.concatenate([[table.base.rss], table.rss])
    return labels, df, sum_sq, rss, np.concatenate([[table.base_value], table.values])


def _order(values: FloatArray) -> IntArray:
    return np.argsort(values, kind="stable").astype(np.int64)


def _step_name(point: Point, number: int, label: Label) -> str:
    return "" if point.sign == 0 else _SIGN[point.sign] + label(number - 1, point.sign, point.term)
