"""What texts that are no bare numbers stand for: dates, numbers with a unit, numbers written in another country."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from mlperf.core.durations import duration_s
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.numbers import DECIMAL_COMMA, GROUPED, UNDERSCORED

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
BARE = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
AROUND = re.compile(
    rf"(?P<before>[A-Za-z_][\w.]*\(|[^\w\s.+-]* ?)(?P<number>{BARE})(?P<behind>[dDfFlLxX]?[^\w]*| [A-Za-z]+|[:±].*)"
)
SPELLED: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (re.compile(r"0[xX][\da-fA-F]+"), lambda text: str(int(text, 16))),
    (re.compile(r"[+-]?[1-9]\d{0,2}(?:_\d{3})+"), lambda text: text.replace("_", "")),
    (re.compile(r"[+-]?\d+\.?\d*[dD][+-]?\d+"), lambda text: text.replace("D", "e").replace("d", "e")),
    (re.compile(rf"−?(?:{BARE})"), lambda text: text.replace("−", "-")),
    (re.compile(r"\d+/[1-9]\d*"), lambda text: f"{int(text.split('/')[0]) / int(text.split('/')[1]):.9g}"),
)
"""Numbers as other programs write them, each with the way to write one here."""
CLOCKED = re.compile(
    r"(?:(?P<days>\d+)(?:-| days? |d ))?(?:(?P<first>\d+):)?(?P<second>\d+):(?P<last>[0-5]?\d(?:\.\d+)?)(?: ?(?P<half>[AaPp][Mm]))?"
)
"""Durations as clocks show them: hours, minutes and seconds, or minutes and seconds; days before them, as Slurm and pandas do."""
SEVERAL = re.compile(r"\d+(?:[x×*,;]\d+)+|[\[(]\d+(?:, ?\d+)+,?[\])]")
POINT_NUMBER = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?")


def are_dates(cells: pd.Series[Any]) -> bool:
    """Whether every text is a date, a time of day or both."""
    return all_match(cells, DATE)


def have_units(cells: pd.Series[Any]) -> bool:
    """Whether every text is a number with a unit or a suffix behind it: ``"0.1 s"``, ``"16GB"``, ``"1.5T"``."""
    return all_match(cells, WITH_UNIT)


def have_several_units(cells: pd.Series[Any]) -> bool:
    """Whether every text is a number with a unit behind, and not all with the same: ``"900 us"``, ``"1.8 ms"``."""
    return have_units(cells) and cells.map(lambda text: UNIT.sub("", text)).nunique() > 1


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


def spelling_remedy(cells: Iterable[str]) -> str:
    """How to write numbers that stand in a spelling that no reader of tables knows, by the first one; empty for other texts.

    Parameters
    ----------
    cells : iterable of str
        As ``0xfa0``, ``4_000``, ``4.0D+03``, ``1/2``, ``$4000``, ``tensor(4000)`` or ``4000 samples``: what stands around the
        number must be the same in every cell.
    """
    texts = [text.strip() for text in cells]
    if all(re.fullmatch(BARE, text) for text in texts):
        return ""
    for pattern, written in SPELLED:
        if all(map(pattern.fullmatch, texts)):
            return f"write {written(texts[0])} for {texts[0]!r}"
    around = [AROUND.fullmatch(text) for text in texts]
    if not texts or len({each and (each["before"], each["behind"]) for each in around}) > 1 or around[0] is None:
        return ""
    return f"write {around[0]['number']} for {texts[0]!r}"


def clock_remedy(text: str) -> str:
    """How to write a duration that stands as on a clock, or as a person says it, in seconds; of a date, that it is none.

    Parameters
    ----------
    text : str
        As ``00:12:34``, ``12:34.5``, ``1-02:03:04``, ``1 days 02:03:04``, ``12m34s`` or ``2024-01-03 00:12:34``.

    Returns
    -------
    str
        A sentence; empty for other texts.
    """
    shown = CLOCKED.fullmatch(text)
    if shown and not shown["half"]:
        days, hours, minutes, last = (float(shown[part] or 0) for part in ("days", "first", "second", "last"))
        seconds = ((days * 24.0 + hours) * 60.0 + minutes) * 60.0 + last
        if shown["first"] or "." in shown["last"]:
            return f"Write durations in seconds, in the whole column: {seconds:.9g} for {text!r}."
        of_hours = (days * 24.0 + minutes) * 3600.0 + last * 60.0
        meant = f"{seconds:.9g} for {text!r} where minutes and seconds are meant, {of_hours:.9g} where hours and minutes are"
        return f"Write durations in seconds, in the whole column: {meant}."
    if DATE.fullmatch(text):
        return "A date, or a time of day, is no duration: write the seconds from start to end, a difference of two of them."
    if re.search(r"[a-z] ?\d", text):
        try:
            return f"Write durations in seconds, in the whole column: {duration_s(text):.9g} for {text!r}."
        except DataError:
            return ""
    return ""


def have_several(cells: pd.Series[Any]) -> bool:
    """Whether every text is two or more whole numbers: ``"64x128"``, ``"(64, 128)"``."""
    return all_match(cells, SEVERAL)


def are_hex(cells: pd.Series[Any]) -> bool:
    """Whether all texts are equally many hexadecimal digits, six or more, as identifiers of commits are."""
    return all_match(cells.str.strip(), HEX) and cells.str.strip().str.len().nunique() == 1


def are_grouped(cells: pd.Series[Any]) -> bool:
    """Whether every text is a number with thousands apart: ``"4,000"``, ``"4_000"``."""
    return all_match(cells, re.compile(f"{GROUPED.pattern}|{UNDERSCORED.pattern}"))


def are_foreign_numbers(cells: pd.Series[Any], decimal: str) -> bool:
    """Whether every text is a number with another decimal mark than ``decimal``, or with thousands apart, or a bare one."""
    other = DECIMAL_COMMA if decimal == "." else POINT_NUMBER
    return all_match(cells, re.compile(f"{other.pattern}|{GROUPED.pattern}|[+-]?\\d+"))


def all_match(cells: pd.Series[Any], pattern: re.Pattern[str]) -> bool:
    """Whether there are texts, and each is of the pattern as a whole."""
    return len(cells) > 0 and all(pattern.fullmatch(text) for text in cells)
