"""What kind of column a CSV column is when no dictionary describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.datasets.dictionary.numbers import EMPTY_HINT, MISSING_WORDS, NOT_FINITE, number_hint

MISSING_HINT = f"{EMPTY_HINT.rpartition(': ')[0]}: fill the cell, or leave rows with missing cells out (na='drop', --na drop)."
MIXED_HINT = "If the column holds labels, say so: categorical=('{column}',) (--categorical {column})."


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
    """

    values: Any
    missing: BoolArray
    wrong: int | None = None
    expected: str = ""
    hint: str = ""


def typed_column(cells: pd.Series[Any], *, is_label: bool) -> TypedColumn:
    """Infer whether a column holds numbers or labels, and type it.

    A column holds numbers where every cell that is not missing is one, labels where none is. A mixture is a mistake unless
    the caller says that the column holds labels.

    Parameters
    ----------
    cells : Series of str
        As in the file.
    is_label : bool
        The caller says that these are labels, whatever they look like.
    """
    if is_label:
        return TypedColumn(cells, cells.str.strip().eq("").to_numpy(dtype=bool))
    numbers, missing, odd = parsed_numbers(cells)
    if (odd | missing).all() and not infinite(cells).any():
        return TypedColumn(cells.where(~missing, ""), missing)
    if odd.any():
        return mixed(cells, ~(odd | missing), missing, odd)
    return TypedColumn(number_values(numbers, missing), missing)


def number_column(cells: pd.Series[Any]) -> TypedColumn:
    """Type a column that must hold numbers, NaN where a cell is missing."""
    numbers, missing, odd = parsed_numbers(cells)
    if odd.any():
        row = int(np.argmax(odd))
        return TypedColumn(cells, missing, row, "a number", number_hint(str(cells.iloc[row])))
    return TypedColumn(number_values(numbers, missing), missing)


def parsed_numbers(cells: pd.Series[Any]) -> tuple[pd.Series[Any], BoolArray, BoolArray]:
    """Cells as numbers (0 where they are missing), which are missing, and which are neither."""
    missing = cells.str.strip().isin(MISSING_WORDS).to_numpy(dtype=bool)
    numbers = pd.to_numeric(cells.where(~missing, "0"), errors="coerce")
    return numbers, missing, ~np.isfinite(numbers.to_numpy(dtype=float))


def number_values(numbers: pd.Series[Any], missing: BoolArray) -> Any:
    """int64 where every number is whole, written as such and none is missing, else float64 with NaN."""
    if numbers.dtype.kind == "i" and not missing.any():
        return numbers.to_numpy(dtype=np.int64)
    return numbers.where(~missing).to_numpy(dtype=np.float64)


def infinite(cells: pd.Series[Any]) -> BoolArray:
    """Cells that spell an infinity."""
    return np.asarray(cells.str.strip().str.lower().str.lstrip("+-").isin(NOT_FINITE - {"nan"}), dtype=bool)


def mixed(cells: pd.Series[Any], numeric: BoolArray, missing: BoolArray, odd: BoolArray) -> TypedColumn:
    """A column of numbers with something else in it, or of labels with a number in it: the rarer kind is the wrong one."""
    if numeric.sum() >= odd.sum():
        row = int(np.argmax(odd))
        text = str(cells.iloc[row])
        hint = f"{number_hint(text)} {mixed_hint(cells)}"
        return TypedColumn(cells, missing, row, "a number, as in the rest of the column", hint)
    row = int(np.argmax(numeric))
    return TypedColumn(cells, missing, row, "a label, as in the rest of the column", mixed_hint(cells))


def mixed_hint(cells: pd.Series[Any]) -> str:
    """How to declare a column as labels."""
    return MIXED_HINT.format(column=cells.name)
