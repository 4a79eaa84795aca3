"""Which mark a table from elsewhere writes before the fraction of a number: a point, or a comma where something else separates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.numbers import DECIMAL_COMMA, MISSING_WORDS, group_hint
from mlperf.datasets.reading.cell_units import without_unit
from mlperf.datasets.reading.grid import Grid

SAMPLE = 1000
WHOLE = re.compile(r"[+-]?\d+")
POINT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?\d+[eE][+-]?\d+", re.ASCII)
# "8,000" may be eight thousand or eight: three digits behind the mark, and no zero before it.
EITHER_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
EITHER_POINT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
ONE_MARK_HINT = (
    "Write all numbers of the file with one decimal mark and without marks between thousands; "
    "say which columns hold labels (categorical=, --categorical NAME)."
)
SHORT_WHOLE = re.compile(r"[+-]?\d{1,3}")


def find_decimal_mark(grid: Grid, names: Sequence[str]) -> str:
    """The mark before the fractions in the named columns: ``"."`` or ``","``.

    Where commas separate it is a point. Elsewhere a column of numbers with commas says that it is a comma, provided that some
    number cannot be one with thousands apart.

    Raises
    ------
    DataError
        Every number with a comma (or, beside whole numbers, with a point) may be one with thousands apart; names the first.
    """
    if grid.separator == "," or not names:
        return "."
    first = grid.texts(names, SAMPLE)
    mark = _mark_in(first) or _mark_in(texts := grid.texts(names))
    if not mark:
        raise _ambiguous(grid, texts)
    if mark == ",":
        _check_points(grid, first)
    return mark


def _check_points(grid: Grid, texts: Mapping[str, pd.Series[Any]]) -> None:
    """Check that no column beside those with decimal commas has decimal points; DataError names one of each."""
    columns = {name: _filled(cells) for name, cells in texts.items()}
    comma = next((name for name, cells in columns.items() if _has_commas(cells)), "")
    for name, cells in columns.items():
        points = cells[cells.str.contains(".", regex=False)]
        if comma and len(points) and _is_all(cells, POINT, WHOLE):
            commas = columns[comma][_matches(columns[comma], DECIMAL_COMMA)]
            like = f"{str(commas.iloc[0])!r} in column {comma} ({grid.where([int(commas.index[0])])})"
            raise grid.error(int(points.index[0]), name, f"a number with a decimal comma, as {like}", ONE_MARK_HINT)


def _mark_in(texts: Mapping[str, pd.Series[Any]]) -> str:
    """The mark that these cells tell; empty where they leave it open."""
    columns = [_filled(cells) for cells in texts.values()]
    with_comma = [cells for cells in columns if _has_commas(cells)]
    if with_comma:
        return "," if any((_matches(cells, DECIMAL_COMMA) & ~_matches(cells, EITHER_COMMA)).any() for cells in with_comma) else ""
    with_point = [cells for cells in columns if _is_all(cells, POINT, WHOLE)]
    clear = any((_matches(cells, POINT) & ~_matches(cells, EITHER_POINT)).any() for cells in with_point)
    return "." if clear or not any(_may_be_groups(cells) for cells in with_point) else ""


def _ambiguous(grid: Grid, texts: Mapping[str, pd.Series[Any]]) -> DataError:
    """The error for the first number that may be one with thousands apart."""
    columns = {name: _filled(cells) for name, cells in texts.items()}
    commas = {name: EITHER_COMMA for name, cells in columns.items() if _has_commas(cells)}
    patterns = commas or {name: EITHER_POINT for name, cells in columns.items() if _may_be_groups(cells)}
    name, pattern = next(iter(patterns.items()))
    found = columns[name][_matches(columns[name], pattern)]
    text = str(found.iloc[0])
    whole, fraction = re.sub(r"[,.]", "", text), text.replace(",", ".")
    points = f"If thousands are meant, remove the point in the whole column: {whole}; if a decimal point: write {fraction}0."
    return grid.error(
        int(found.index[0]), name, f"a number that is not both {whole} and {fraction}", group_hint(text) if commas else points
    )


def _has_commas(cells: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, some of them with a comma."""
    return _is_all(cells, DECIMAL_COMMA, WHOLE) and bool(_matches(cells, DECIMAL_COMMA).any())


def _may_be_groups(cells: pd.Series[Any]) -> bool:
    """Whether a column looks like 512, 1.024, 2.048: whole numbers up to 999, and three digits behind a point."""
    if not len(cells):
        return False
    either = _matches(cells, EITHER_POINT)
    return bool(either.any() and not either.all() and (either | _matches(cells, SHORT_WHOLE)).all())


def _filled(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Cells that are not missing, without blanks around them, and without a unit that the column's name tells."""
    bare = without_unit(cells).str.strip()
    return bare[~bare.isin(MISSING_WORDS)]


def _matches(cells: pd.Series[Any], pattern: re.Pattern[str]) -> BoolArray:
    return np.array([pattern.fullmatch(text) is not None for text in cells], dtype=bool)


def _is_all(cells: pd.Series[Any], *patterns: re.Pattern[str]) -> bool:
    return len(cells) > 0 and all(any(pattern.fullmatch(text) for pattern in patterns) for text in cells)
