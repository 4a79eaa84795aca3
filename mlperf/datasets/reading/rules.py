"""What the data dictionary demands of a row's cells once they are numbers and words: bounds, zeros, absent values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.dictionary.column import Column
from mlperf.datasets.dictionary.numbers import EMPTY_HINT, bound_hint
from mlperf.datasets.reading.cells import ParsedTable, may_be_empty


@dataclass(frozen=True, slots=True)
class Violation:
    """The first cell that breaks a rule: where, what was expected, what to do."""

    row: int
    column: str
    expected: str
    hint: str


def first_violation(parsed: ParsedTable, columns: Sequence[Column]) -> Violation | None:
    """The violation in the topmost row, and there in the leftmost of ``columns``; None where there is none."""
    found: Violation | None = None
    for column in columns:
        violation = column_violation(parsed, column)
        if violation is not None and (found is None or violation.row < found.row):
            found = violation
    return found


def column_violation(parsed: ParsedTable, column: Column) -> Violation | None:
    """The topmost violation in one column."""
    values = parsed.values[column.name]
    absent = rows_where(parsed, column)
    filled = has_value(parsed, column)
    wrong = (absent & filled) | (~absent & ~allowed(parsed, column))
    if not wrong.any():
        return None
    row = int(np.argmax(wrong))
    if absent[row] and column.absent_when is not None:
        wanted = f"0 ({column.absent_when.words})" if column.absent_text else f"an empty cell ({column.absent_when.words})"
        return Violation(row, column.name, wanted, "The data dictionary says which cells go with which rows (mlperf data columns).")
    if not filled[row] and (may_be_empty(column) or not column.is_numeric):
        return Violation(row, column.name, column.expected, EMPTY_HINT)
    if not column.is_numeric:
        return Violation(row, column.name, shortened(column), did_you_mean(str(pd.Series(values).iloc[row]), column.choices))
    value = float(values[row])
    expected = f"{column.expected.replace('>= 0', '> 0')}" if value == 0 else column.expected
    return Violation(row, column.name, expected, bound_hint(value, is_time=column.unit == "s"))


def rows_where(parsed: ParsedTable, column: Column) -> BoolArray:
    """Rows in which the column has nothing to say."""
    n_rows = len(parsed.values[column.name])
    return np.zeros(n_rows, dtype=bool) if column.absent_when is None else column.absent_when.holds(parsed.values)


def has_value(parsed: ParsedTable, column: Column) -> BoolArray:
    """Rows in which the cell says something: not empty, and not the zero that stands for nothing."""
    values = parsed.values[column.name]
    if column.name in parsed.empty:
        return ~parsed.empty[column.name]
    if column.is_numeric and column.absent_text:
        return np.asarray(np.asarray(values) != 0, dtype=bool)
    if not column.is_numeric:
        return np.asarray(pd.Series(values) != "", dtype=bool)
    return np.ones(len(values), dtype=bool)


def allowed(parsed: ParsedTable, column: Column) -> BoolArray:
    """Rows whose cell is inside its bounds or among its choices."""
    values: Any = parsed.values[column.name]
    if not column.is_numeric:
        known = pd.Series(values).isin(column.choices).to_numpy(dtype=bool) if column.choices else np.ones(len(values), dtype=bool)
        return known & has_value(parsed, column)
    numbers = np.asarray(values)
    inside = (
        (numbers >= column.lower) & (numbers <= column.upper) & ~parsed.empty.get(column.name, np.zeros(len(numbers), dtype=bool))
    )
    if column.lower > 0:
        return np.asarray(inside, dtype=bool)
    zero_allowed = False if column.zero_when is None else column.zero_when.holds(parsed.values)
    return np.asarray(inside & ((numbers != 0) | zero_allowed), dtype=bool)


def shortened(column: Column) -> str:
    """What a text should be, without listing more choices than a line holds."""
    return column.expected if len(column.choices) <= 12 else f"a known {column.name}"
