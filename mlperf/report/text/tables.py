"""A data frame as an aligned table for people; headings and digits follow from the column names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

from mlperf.core.printable import printable
from mlperf.report.text.numbers import (
    ABSENT,
    AUTO,
    BYTE_UNITS,
    TIME_UNITS_S,
    Seconds,
    best_unit,
    number_text,
    percent_text,
    seconds_text,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

SENTENCE_WIDTH = 64
PERCENT_ENDINGS = ("mape", "_error", "_error_max", "_fraction", "share", "coverage", "half_width", "noise_floor")


@dataclass(frozen=True, slots=True)
class Column:
    """One column ready to print: its heading, its cells, and whether it is right-aligned."""

    heading: str
    cells: tuple[str, ...]
    is_number: bool

    @property
    def is_prose(self) -> bool:
        """Whether a cell holds words enough to wrap; names without spaces are never broken."""
        return not self.is_number and any(len(cell) > SENTENCE_WIDTH and " " in cell for cell in self.cells)


def column_view(name: str, values: Sequence[Any], time_unit: str = AUTO) -> Column:
    """Heading and cells of one column.

    Parameters
    ----------
    name : str
        Column name; its ending gives the kind: ``_s`` seconds, ``_bytes`` bytes, ``_error`` and ``mape`` fractions, ``_elasticity``
        four decimals.
    values : sequence
        Cells, None and NaN allowed.
    time_unit : str
        ``"auto"`` or a key of ``TIME_UNITS_S``.
    """
    numbers = [float(value) for value in values if is_number(value)]
    label = printable(name.replace("_", " "))
    if not numbers:
        return Column(label, tuple(plain_text(value) for value in values), is_number=False)
    if any(isinstance(value, Seconds) for value in values):
        return Column(label, tuple(own_unit_text(value, time_unit) for value in values), is_number=True)
    if name.endswith("_s") and not name.endswith("_per_s"):
        unit = best_unit(numbers, TIME_UNITS_S, "s") if time_unit == AUTO else time_unit
        return Column(f"{label[:-2]} ({unit})", cells(values, scaled(TIME_UNITS_S[unit])), is_number=True)
    if name.endswith("_bytes"):
        unit = best_unit(numbers, BYTE_UNITS, "B")
        return Column(f"{label[:-6]} ({unit})", cells(values, scaled(BYTE_UNITS[unit])), is_number=True)
    if name.endswith("_elasticity"):
        return Column(label, cells(values, lambda value: f"{round(value, 4) + 0.0:.4f}"), is_number=True)
    if name.endswith(PERCENT_ENDINGS):
        return Column(label, cells(values, percent_text), is_number=True)
    return Column(label, cells(values, count_or_number(values)), is_number=True)


def cells(values: Sequence[Any], text: Callable[[float], str]) -> tuple[str, ...]:
    """Text of each value: numbers by ``text``, the rest as words."""
    return tuple(text(float(value)) if is_number(value) else plain_text(value) for value in values)


def own_unit_text(value: Any, time_unit: str) -> str:
    """A time with its unit, any other number with four digits."""
    if isinstance(value, Seconds):
        return seconds_text(value, time_unit)
    return number_text(float(value)) if is_number(value) else plain_text(value)


def count_or_number(values: Sequence[Any]) -> Callable[[float], str]:
    """Whole numbers whole where the column holds nothing else, four significant digits otherwise."""
    whole = all(float(value).is_integer() for value in values if is_number(value) and isfinite(value))
    return whole_text if whole else number_text


def whole_text(value: float) -> str:
    """A whole number whole; what is not finite in words."""
    return f"{int(value):,}" if isfinite(value) else number_text(value)


def scaled(size: float) -> Callable[[float], str]:
    """Text of a number in a unit of the given size."""
    return lambda value: number_text(value / size)


def is_number(value: Any) -> bool:
    """Whether a cell holds a number (booleans are words)."""
    return isinstance(value, Real) and not is_flag(value)


def is_flag(value: Any) -> bool:
    """Whether a cell is true or false, Python's or NumPy's."""
    return type(value).__name__ in {"bool", "bool_"}


def plain_text(value: Any) -> str:
    """A word, a flag as yes or no, an absent value as a dash."""
    if value is None or value != value or value == "NaN":
        return ABSENT
    if is_flag(value):
        return "yes" if value else "no"
    return printable(str(value))


def frame_columns(frame: pd.DataFrame, time_unit: str = AUTO, alike: Sequence[str] = ()) -> tuple[Column, ...]:
    """Every column of a frame, ready to print; the columns named ``alike`` share one unit of time."""
    shared = common_unit(frame, alike) if time_unit == AUTO and alike else time_unit
    return tuple(column_view(str(name), list(frame[name]), shared if name in alike else time_unit) for name in frame.columns)


def common_unit(frame: pd.DataFrame, names: Sequence[str]) -> str:
    """The unit that reads best for all seconds of some columns together."""
    return best_unit([float(value) for name in names for value in frame[name] if is_number(value)], TIME_UNITS_S, "s")


def frame_table(frame: pd.DataFrame, time_unit: str = AUTO, alike: Sequence[str] = ()) -> Table:
    """A frame as a rich table.

    Parameters
    ----------
    frame : DataFrame
        Any frame; units follow from the column names.
    time_unit : str
        ``"auto"`` or a key of ``TIME_UNITS_S``, for every column of seconds.
    alike : sequence of str
        Columns of seconds that share one unit.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    columns = frame_columns(frame, time_unit, alike)
    for column in columns:
        table.add_column(
            Text(column.heading),
            justify="right" if column.is_number else "left",
            overflow="fold",
            max_width=SENTENCE_WIDTH if column.is_prose else None,
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        # Not as markup: a name may hold brackets.
        table.add_row(*map(Text, row))
    return table
