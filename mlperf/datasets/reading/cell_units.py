"""Units that stand in the cells of a column and in its name, as ``45 %`` below ``utilization.gpu [%]`` (nvidia-smi writes so)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pandas as pd

from mlperf.datasets.dictionary.numbers import parse_number
from mlperf.datasets.reading.time_units import RATE, TIME_SUFFIXES, plain_name

BRACKETED = re.compile(r"[\[(] *(?P<unit>[^\[\]()]+?) *[\])]\s*$")
SUFFIXED = re.compile(r"_(?P<unit>ns|us|ms|s|min|h|(?:[kmgtp]i?)?b|percent|pct|[kmg]?hz|m?w|m?j)$")
CELL = re.compile(r"\s*(?P<number>[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>%|[^\W\d_]+)\s*")
SPELLINGS = {"percent": "%", "pct": "%", "KB": "kB"}
DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
BINARY = {f"{prefix}i": 1024.0**power for power, prefix in enumerate("KMGTP", start=1)}
DIMENSIONS = {
    "time": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "size": {f"{prefix}B": factor for prefix, factor in {**DECIMAL, **BINARY}.items()},
    "frequency": {f"{prefix}Hz": DECIMAL[prefix] for prefix in ("", "k", "M", "G")},
    "share": {"%": 1.0},
    "power": {"mW": 1e-3, "W": 1.0, "kW": 1e3},
    "energy": {"mJ": 1e-3, "J": 1.0, "kJ": 1e3},
}
KNOWN = {unit: (dimension, factor) for dimension, units in DIMENSIONS.items() for unit, factor in units.items()}
"""What each unit is of, and how many of the dimension's own unit it is."""
OTHER_HINT = "Name the unit of the cells in the column's name, or check whether the cells of this row have slipped."


class HeaderUnit(NamedTuple):
    """The unit that the name of a column ends in.

    Attributes
    ----------
    unit : str
        In the spelling of `KNOWN` where it is a known one, else as it stands.
    is_bracketed : bool
        It stands in brackets, where nothing but a unit is meant; letters behind an underscore may be part of a word.
    """

    unit: str
    is_bracketed: bool


class UnitFault(NamedTuple):
    """The first cell whose unit is not that of its column.

    Attributes
    ----------
    row : int
        From 0.
    expected, hint : str
        What the cell should have been, and what to do.
    is_convertible : bool
        Both units are of one dimension: the number alone would be taken for another one.
    """

    row: int
    expected: str
    hint: str
    is_convertible: bool


def header_unit(name: str) -> HeaderUnit | None:
    """The unit in a name: ``MiB`` of ``memory.used [MiB]``, ``ms`` of ``step_ms``; None where there is none.

    Letters behind an underscore are a unit in any case of letters; a rate (``bytes_per_s``) has none that cells repeat.
    """
    if found := BRACKETED.search(name):
        return HeaderUnit(_spelled(found["unit"]), is_bracketed=True)
    plain = plain_name(name)
    found = SUFFIXED.search(plain)
    if found is None or RATE in plain:
        return None
    alike = [unit for unit in KNOWN if unit.lower() == _spelled(found["unit"]).lower()]
    # mw and mj are thousandths in every name that somebody wrote in small letters; there are no megawatts here.
    return HeaderUnit(alike[0], is_bracketed=False)


def unit_advice(own: str, other: str) -> str:
    """How to bring a column to another column's unit and name, by what both names end in.

    Parameters
    ----------
    own, other : str
        The column that there is, and the one that is wanted.

    Returns
    -------
    str
        ``"Multiply 'load_s' by 1000, then call it 'load_ms'."``; empty where the names tell no two units of one kind.
    """
    told = [header_unit(name) for name in (own, other)]
    kinds = [KNOWN[unit.unit] for unit in told if unit is not None and unit.unit in KNOWN]
    if len(kinds) < len(told) or kinds[0][0] != kinds[1][0] or kinds[0][1] == kinds[1][1]:
        return ""
    return f"Multiply {own!r} by {kinds[0][1] / kinds[1][1]:.9g}, then call it {other!r}."


def without_unit(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Cells of a column without the unit that its name has, too: ``"45"`` for ``"45 %"`` in ``utilization.gpu [%]``.

    Parameters
    ----------
    cells : Series of str
        As in the file; its name is that of the column.
    """
    told = header_unit(str(cells.name))
    if told is None:
        return cells

    def bare(text: str) -> str:
        found = CELL.fullmatch(text)
        return found["number"] if found and _spelled(found["unit"]) == told.unit else text

    return cells.map(bare)


def unit_fault(cells: pd.Series[Any]) -> UnitFault | None:
    """The first cell that has another known unit than the column's name; None where there is none.

    Parameters
    ----------
    cells : Series of str
        As `without_unit` leaves them.
    """
    name = str(cells.name)
    told = header_unit(name)
    if told is None or told.unit not in KNOWN:
        return None
    for row, text in enumerate(cells):
        found = CELL.fullmatch(text)
        unit = _spelled(found["unit"]) if found else ""
        if found is None or unit not in KNOWN or unit == told.unit:
            continue
        (of, factor), (other, other_factor) = KNOWN[told.unit], KNOWN[unit]
        if of != other and not told.is_bracketed:
            continue
        hint = _converted(text.strip(), found["number"], other_factor / factor) if of == other else OTHER_HINT
        return UnitFault(row, f"a number in {told.unit}, the unit in the column's name", hint, of == other)
    return None


def _spelled(unit: str) -> str:
    """A unit in one spelling, those of time as names of columns are read."""
    of_time = plain_name(f"x_{unit}").removeprefix("x")
    return of_time.removeprefix("_") if of_time in TIME_SUFFIXES else SPELLINGS.get(unit, unit)


def _converted(text: str, number: str, ratio: float) -> str:
    """How to write a cell in the unit of its column."""
    value = parse_number(number)
    written = f"write {value * ratio:.9g} for {text!r}" if value is not None else "count every cell in it"
    return f"A column has one unit: {written}, or name the unit of all cells in the column's name."
