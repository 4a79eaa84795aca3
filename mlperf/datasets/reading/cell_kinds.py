"""What texts that are no bare numbers stand for: dates, numbers with a unit, numbers written in another country."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from mlperf.datasets.dictionary.numbers import DECIMAL_COMMA, GROUPED

DAY, MONTH, YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"(?:19|20)\d\d"
CLOCK = r"[0-2]?\d:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
WORD_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
CALENDAR = "|".join(
    (
        rf"{YEAR}([-/.]){MONTH}\1{DAY}",
        rf"{DAY}([-/.]){MONTH}\2{YEAR}",
        rf"{MONTH}([-/]){DAY}\3{YEAR}",
        rf"{DAY}[- ]{WORD_MONTH},?[- ]{YEAR}",
        rf"{WORD_MONTH} {DAY},? {YEAR}",
    )
)
DATE = re.compile(rf"(?:{CALENDAR})(?:[T ]{CLOCK})?|{CLOCK}")
TIME_UNITS, SIZE_UNITS = "s|sec|ms|us|µs|μs|ns|min|h", "B|[kKMGTP](?:i?B)?|[kKMGT]bit"
WITH_UNIT = re.compile(rf"[+-]?[\d.,]+(?:[eE][+-]?\d+)? ?(?:{TIME_UNITS}|{SIZE_UNITS}|[kMG]?Hz|%|[mk]?W|m?J|[GT]?FLOPS?|[€$£])")
PREFIXED = re.compile(r"(?P<number>[+-]?[\d.,]+) ?(?P<prefix>[kKMGTP])(?:(?P<binary>i?)(?P<unit>B))?")
POWERS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
HEX = re.compile(r"[0-9a-f]{6,}|[0-9A-F]{6,}")
UNIT, UNIT_END = re.compile(r"^[+-]?[\d.,]+(?:[eE][+-]?\d+)? ?"), re.compile(r" ?[^\d.,]+$")
POINT_NUMBER = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?")


def are_dates(cells: pd.Series[Any]) -> bool:
    """Whether every text is a date, a time of day or both."""
    return all_match(cells, DATE)


def have_units(cells: pd.Series[Any]) -> bool:
    """Whether every text is a number with a unit or a suffix behind it: ``"0.1 s"``, ``"16GB"``, ``"1.5T"``."""
    return all_match(cells, WITH_UNIT)


def unit_remedy(cells: Iterable[str], name: str) -> str:
    """How to write such a column, by its first cell: without the suffix, or with the unit in the name.

    Parameters
    ----------
    cells : iterable of str
        Numbers with units or suffixes.
    name : str
        The column's name.
    """
    texts = list(cells)
    first = texts[0]
    unit = UNIT.sub("", first)
    named = f"the unit in the name: {f'{name} ({unit})'!r}"
    prefixed = PREFIXED.fullmatch(first)
    number = UNIT_END.sub("", first)
    if len({UNIT.sub("", text) for text in texts}) == 1 and (prefixed is None or prefixed["unit"]):
        told = "" if unit.lower() in name.lower() else f", and {named}"
        return f"write {number} for {first!r}{told}"
    if prefixed is None:
        return f"write bare numbers in one unit, and {named}"
    power = POWERS[prefixed["prefix"]]
    written = f"{number}*1024^{power}, counted out," if prefixed["binary"] else f"{number}e{3 * power}"
    return f"write {written} for {first!r}"


def are_hex(cells: pd.Series[Any]) -> bool:
    """Whether all texts are equally many hexadecimal digits, six or more, as identifiers of commits are."""
    return all_match(cells.str.strip(), HEX) and cells.str.strip().str.len().nunique() == 1


def are_foreign_numbers(cells: pd.Series[Any], decimal: str) -> bool:
    """Whether every text is a number with another decimal mark than ``decimal``, or with thousands apart, or a bare one."""
    other = DECIMAL_COMMA if decimal == "." else POINT_NUMBER
    return all_match(cells, re.compile(f"{other.pattern}|{GROUPED.pattern}|[+-]?\\d+"))


def all_match(cells: pd.Series[Any], pattern: re.Pattern[str]) -> bool:
    """Whether there are texts, and each is of the pattern as a whole."""
    return len(cells) > 0 and all(pattern.fullmatch(text) for text in cells)
