"""The columns of a data frame as text for people; headings, units and digits follow from the column names."""

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
    ENERGY_UNITS_J,
    TIME_UNITS_S,
    Seconds,
    Written,
    best_unit,
    number_text,
    percent_text,
    seconds_text,
)

if TYPE_CHECKING:
    import pandas as pd

FIGURES = frozenset(
    "measured predicted explained simulated equations lower upper low high min max mean median std err run".split()  # noqa: SIM905
)
"""Words that say which figure of a quantity a column holds, and not of which quantity."""
PERCENT_ENDINGS = ("mape", "_error", "_error_max", "_fraction", "share", "coverage", "half_width", "noise_floor", "halves_differ")


@dataclass(frozen=True, slots=True)
class Column:
    """One column ready to print: its heading, its cells, and whether it is right-aligned."""

    heading: str
    cells: tuple[str, ...]
    is_number: bool


def column_view(name: str, values: Sequence[Any], time_unit: str = AUTO) -> Column:
    """Heading and cells of one column.

    Parameters
    ----------
    name : str
        Column name; its ending gives the kind: ``_s`` seconds, ``_bytes`` bytes, ``energy_j`` joules, ``_error`` and ``mape``
        fractions, ``_elasticity`` four decimals.
    values : sequence
        Cells, None and NaN allowed.
    time_unit : str
        ``"auto"`` or a key of ``TIME_UNITS_S``.
    """
    numbers = [float(value) for value in values if is_number(value)]
    label = printable(name.replace("_", " "))
    if not numbers:
        written = any(isinstance(value, Written) for value in values)
        return Column(label, tuple(plain_text(value) for value in values), is_number=written)
    if any(isinstance(value, Seconds) for value in values):
        return Column(label, tuple(own_unit_text(value, time_unit) for value in values), is_number=True)
    if is_seconds(name):
        unit = best_unit(numbers, TIME_UNITS_S, "s") if time_unit == AUTO else time_unit
        return Column(f"{label[:-2]} ({unit})", cells(values, scaled(TIME_UNITS_S[unit])), is_number=True)
    if name.endswith("_bytes"):
        unit = best_unit(numbers, BYTE_UNITS, "B")
        return Column(f"{label[:-6]} ({unit})", cells(values, scaled(BYTE_UNITS[unit])), is_number=True)
    if name.endswith("energy_j"):
        unit = best_unit(numbers, ENERGY_UNITS_J, "Wh")
        return Column(f"{label[:-2]} ({unit})", cells(values, scaled(ENERGY_UNITS_J[unit])), is_number=True)
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
        return seconds_text(value, value.unit if time_unit == AUTO else time_unit)
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


def is_seconds(name: str) -> bool:
    """Whether a column of this name holds seconds."""
    return name.endswith("_s") and not name.endswith("_per_s")


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


def frame_columns(frame: pd.DataFrame, time_unit: str = AUTO) -> tuple[Column, ...]:
    """Every column of a frame, ready to print; columns of seconds that tell of one quantity share a unit."""
    units = quantity_units(frame) if time_unit == AUTO else {}
    return tuple(column_view(str(name), list(frame[name]), units.get(str(name), time_unit)) for name in frame.columns)


def quantity_units(frame: pd.DataFrame) -> dict[str, str]:
    """Column of seconds to the unit that reads best for all columns of its quantity together."""
    quantities: dict[str, list[str]] = {}
    for name in map(str, frame.columns):
        if is_seconds(name):
            quantities.setdefault(quantity_of(name), []).append(name)
    return {name: common_unit(frame, names) for names in quantities.values() for name in names}


def quantity_of(name: str) -> str:
    """What a column tells of, without the words that say which figure of it: ``epoch`` of ``epoch_low_s``."""
    return " ".join(word for word in name.removesuffix("_s").split("_") if word not in FIGURES)


def common_unit(frame: pd.DataFrame, names: Sequence[str]) -> str:
    """The unit that reads best for all seconds of some columns together."""
    return best_unit([float(value) for name in names for value in frame[name] if is_number(value)], TIME_UNITS_S, "s")
