"""What kind of column a CSV column is when no dictionary describes it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.datasets.dictionary.numbers import DECIMAL_COMMA, MISSING_WORDS, NOT_FINITE, TEXT_HINT, number_hint
from mlperf.datasets.reading.cell_kinds import (
    are_dates,
    are_foreign_numbers,
    are_grouped,
    are_hex,
    clock_remedy,
    have_several_units,
    have_units,
    unit_remedy,
)
from mlperf.datasets.reading.cell_units import unit_fault, without_unit

DROP_HINT = "leave out rows with missing cells (na='drop', --na drop)"
MISSING_HINT = f"Fill the cell, or {DROP_HINT}."
MIXED_HINT = "If the column holds labels, say so: categorical=({name!r},) (--categorical {shell})."
NUMBER_HINT = "Fill the cell, or remove the row."
EMPTY_INSTEAD = f"To do without the row, empty the cell and {DROP_HINT}."
LABELS_ALONE = re.compile(r" ?If the column holds labels, say so: [^)]*\)? ?\([^)]*\)\.")
"""`MIXED_HINT` of any column."""
OTHER_TARGET = "Choose a column of numbers as target."
POINT_HINT = "Numbers of this file have decimal commas: write one here too, or remove a point between thousands."
TARGET = "a number: the target is what the model predicts"


@dataclass(frozen=True, slots=True, eq=False)
class TypedColumn:
    """One column.

    Attributes
    ----------
    values : array or Series, length n_rows
        float64, int64 where every number is whole and written as such, or text; NaN or ``""`` where a cell is missing.
    missing : array, shape (n_rows,)
        Cells that are empty or hold a word for a missing value.
    wrong : int or None
        Row (from 0) of the first cell that does not fit, other than a missing one.
    expected, hint : str
        What that cell should have been, and what to do.
    holds : str
        What labels are besides: ``"dates"``, ``"units"`` (numbers with a unit behind) or nothing.
    is_bared : bool
        Whether the unit was taken off its numbers, which the column's name has, too.
    """

    values: Any
    missing: BoolArray
    wrong: int | None = None
    expected: str = ""
    hint: str = ""
    holds: str = ""
    is_bared: bool = False


def typed_column(cells: pd.Series[Any], *, is_label: bool, is_target: bool = False, decimal: str = ".") -> TypedColumn:
    """Infer whether a column holds numbers or labels, and type it.

    A column holds numbers where every cell that is not missing is one, labels where none is. A mixture is a mistake unless
    the caller says that the column holds labels, or hexadecimal digits of one length do, some of which have no letter.

    Parameters
    ----------
    cells : Series of str
        As in the file.
    is_label : bool
        The caller says that these are labels, whatever they look like.
    is_target : bool
        The column must hold numbers.
    decimal : str
        The decimal mark of the file's numbers.
    """
    if is_label:
        return TypedColumn(cells, cells.str.strip().eq("").to_numpy(dtype=bool))
    numbers, missing, odd = parsed_numbers(cells, decimal)
    if (odd | missing).all() and not infinite(cells).any() and not (is_target and odd.any()):
        return TypedColumn(cells.where(~missing, ""), missing)
    if odd.any() and not is_target and odd.sum() >= (~(odd | missing)).sum() and are_hex(cells[~missing]):
        return TypedColumn(cells.where(~missing, ""), missing)
    if odd.any():
        return mixed(cells, ~(odd | missing), missing, odd, is_target=is_target, decimal=decimal)
    return TypedColumn(number_values(numbers, missing), missing)


def foreign_column(cells: pd.Series[Any], *, is_label: bool, is_target: bool, decimal: str) -> TypedColumn:
    """`typed_column` of a table from elsewhere, in which no number passes for a label.

    A column of numbers with another decimal mark or with thousands apart is a mistake; dates and numbers with units are marked.
    Cells may repeat the unit that the column's name has, and another one is a mistake. Labels lose the blanks around them.
    """
    column = typed_column(cells, is_label=is_label, is_target=is_target, decimal=decimal)
    if column.wrong is None and not isinstance(column.values, pd.Series):
        return column
    bared = None if is_label else _bared_column(cells, is_target=is_target, decimal=decimal)
    if bared is not None or column.wrong is not None:
        return bared or column
    column = replace(column, values=column.values.str.strip())
    filled = column.values[~column.missing]
    if is_label or not len(filled):
        return column
    if are_foreign_numbers(filled, decimal):
        row = int(filled.index[0])
        expected = f"a number{mark_words(decimal)}"
        return TypedColumn(cells, column.missing, row, expected, odd_hint(cells, row, decimal, mixed_hint(cells)))
    return replace(column, holds="dates" if are_dates(filled) else "units" if have_units(filled) else "")


def _bared_column(cells: pd.Series[Any], *, is_target: bool, decimal: str) -> TypedColumn | None:
    """Numbers whose unit the column's name has, too, or the first with another one; None where that is not what cells are."""
    bare = without_unit(cells)
    _, missing, odd = parsed_numbers(bare, decimal)
    n_numbers = int((~(odd | missing)).sum())
    fault = unit_fault(bare)
    if fault is not None and (n_numbers or is_target or fault.is_convertible):
        return TypedColumn(cells, missing, fault.row, fault.expected, fault.hint)
    # Where few are numbers with the unit, the others are labels and no mistakes.
    if bare.equals(cells) or n_numbers < odd.sum():
        return None
    return replace(typed_column(bare, is_label=False, is_target=is_target, decimal=decimal), is_bared=True)


def has_gaps(column: TypedColumn) -> bool:
    """Whether some cells of a column that is no mistake and holds no dates are missing, and some are there."""
    return column.wrong is None and column.holds != "dates" and bool(column.missing.any()) and not bool(column.missing.all())


def with_gaps(column: TypedColumn) -> pd.Series[Any]:
    """The values of a column, NaN or None where a cell is missing."""
    values = pd.Series(column.values)
    return values if values.dtype.kind == "f" else values.astype(object).where(~column.missing, None)


def number_column(cells: pd.Series[Any]) -> TypedColumn:
    """Type a column that must hold numbers, NaN where a cell is missing."""
    numbers, missing, odd = parsed_numbers(cells)
    if odd.any():
        row = int(np.argmax(odd))
        return TypedColumn(cells, missing, row, "a number", number_hint(str(cells.iloc[row])))
    return TypedColumn(number_values(numbers, missing), missing)


def parsed_numbers(cells: pd.Series[Any], decimal: str = ".") -> tuple[pd.Series[Any], BoolArray, BoolArray]:
    """Cells as numbers (0 where they are missing), which are missing, and which are neither."""
    bare = cells.str.strip()
    missing = bare.isin(MISSING_WORDS).to_numpy(dtype=bool)
    filled = cells.where(~missing, "0")
    if decimal == ",":
        with_comma = bare.str.fullmatch(DECIMAL_COMMA.pattern).to_numpy(dtype=bool)
        # A point is no decimal mark in this file: such a number must not pass as one.
        filled = filled.where(~bare.str.contains(".", regex=False), "").mask(with_comma, bare.str.replace(",", ".", regex=False))
    numbers = pd.to_numeric(filled.where(filled != "", "?"), errors="coerce")
    return numbers, missing, ~np.isfinite(numbers.to_numpy(dtype=float))


def number_values(numbers: pd.Series[Any], missing: BoolArray) -> Any:
    """int64 where every number is whole, written as such and none is missing, else float64 with NaN."""
    if numbers.dtype.kind == "i" and not missing.any():
        return numbers.to_numpy(dtype=np.int64)
    return numbers.where(~missing).to_numpy(dtype=np.float64)


def infinite(cells: pd.Series[Any]) -> BoolArray:
    """Cells that spell an infinity."""
    return np.asarray(cells.str.strip().str.lower().str.lstrip("+-").isin(NOT_FINITE - {"nan"}), dtype=bool)


def mixed(
    cells: pd.Series[Any], numeric: BoolArray, missing: BoolArray, odd: BoolArray, *, is_target: bool = False, decimal: str = "."
) -> TypedColumn:
    """A column of numbers with something else in it, or of labels with a number in it: the rarer kind is the wrong one."""
    if is_target or numeric.sum() >= odd.sum():
        row = int(np.argmax(odd))
        expected = f"a number{mark_words(decimal)}, as in the rest of the column" if numeric.any() else TARGET
        advice = "" if numeric.any() else OTHER_TARGET
        return TypedColumn(cells, missing, row, expected, odd_hint(cells, row, decimal, advice if is_target else mixed_hint(cells)))
    if have_units(cells[odd].str.strip()) or are_grouped(cells[odd].str.strip()):
        row = int(np.argmax(odd))
        return TypedColumn(cells, missing, row, f"a number{mark_words(decimal)}", odd_hint(cells, row, decimal, mixed_hint(cells)))
    row = int(np.argmax(numeric))
    return TypedColumn(cells, missing, row, "a label, as in the rest of the column", mixed_hint(cells))


def odd_hint(cells: pd.Series[Any], row: int, decimal: str, advice: str) -> str:
    """What to do about a cell that is no number; ``advice``: what to do about its column."""
    text = str(cells.iloc[row])
    if advice == OTHER_TARGET and (clock := clock_remedy(text.strip())):
        return clock
    if advice == OTHER_TARGET and have_several_units(filled := cells[cells.str.strip() != ""].str.strip()):
        remedy = unit_remedy(filled, str(cells.name))
        return f"{remedy[0].upper()}{remedy[1:]}."
    hint = POINT_HINT if decimal == "," and "." in text else number_hint(text)
    parts = (EMPTY_INSTEAD if advice != OTHER_TARGET else "",) if hint == TEXT_HINT else ()
    return " ".join(part for part in (hint, *parts, advice) if part)


def mark_words(decimal: str) -> str:
    """How numbers are written in a file that has decimal commas."""
    return " with a decimal comma, as elsewhere in the file" if decimal == "," else ""


def mixed_hint(cells: pd.Series[Any]) -> str:
    """How to declare a column as labels."""
    name = str(cells.name)
    return MIXED_HINT.format(name=name, shell=shlex.quote(name))


def together_hint(hint: str) -> str:
    """A hint without what only a table that is read alone takes: dropped rows, columns said to hold labels."""
    remedy = hint.replace(f"or {DROP_HINT}", "or remove the row").replace(f"empty the cell and {DROP_HINT}", "remove it")
    return LABELS_ALONE.sub(" If the column holds labels, write none of them as a bare number.", remedy).strip()
