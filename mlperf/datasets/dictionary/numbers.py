"""What counts as a number in a cell, and what to say to the author of one that does not."""

from __future__ import annotations

import math
import re

NUMBER = re.compile(r"[ \t]*[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?[ \t]*", re.ASCII)
MISSING_WORDS = frozenset({"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "[N/A]", "[Not Supported]"})
NOT_FINITE = frozenset({"nan", "inf", "infinity"})
# Groups of three digits: behind commas, blanks of any width or apostrophes; behind points where there are two, or a comma follows.
GROUPED = re.compile(
    r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3})+(?:\.\d+)?|(?:[ \u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?|(?:['’]\d{3})+(?:[.,]\d+)?"
    r"|(?:\.\d{3}){2,}|(?:\.\d{3})+,\d+)"
)
UNDERSCORED = re.compile(r"[+-]?[1-9]\d{0,2}(?:_\d{3})+(?:\.\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?", re.ASCII)
SUFFIX = re.compile(r"([+-]?\d+(?:\.\d*)?)[ \t]*([kKMGTP])")
POWERS = {"k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
UNIT_BEHIND = re.compile(r"[ \t]*[+-]?[\d.]+([eE][+-]?\d+)?[ \t]*[A-Za-zµμ%]+[ \t]*")
# Not read as a number: 3d10 or 12d345 may as well be a label or the start of a commit, so a person decides.
FORTRAN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)[dD][+-]?\d+", re.ASCII)
SPREAD = re.compile(
    r"(?P<value>[+-]?[\d.]+(?:[eE][+-]?\d+)?) ?(?:±|\+/-|\+-) ?(?P<spread>[\d.]+(?:[eE][+-]?\d+)?)(?P<unit> ?[A-Za-zµμ%]*)"
)
UNIT_ALONE = re.compile(r"[\[(]?(?:s|sec|seconds|ms|msec|us|µs|μs|ns|min|h|B|[kKMGTP]i?B|bytes|[kMG]?Hz|%|[GT]?FLOPS?|W|J)[\])]?")

EMPTY_HINT = (
    "A cell may be empty only where the data dictionary says so (mlperf data columns): measure the row again, or remove it."
)
NOT_FINITE_HINT = "NaN and infinities are no measurements: measure the row again, or remove it."
BLANK_HINT = (
    "A blank of another kind (one that does not break, a thin one) stands beside the number: remove it in the whole column."
)
COMMA_HINT = "Write a decimal point, not a comma."
UNIT_HINT = "Write the bare number: the unit stands in the column's name."
TEXT_HINT = "Write a number with a decimal point and nothing else, or check whether the cells of this row have slipped."
WHOLE_HINT = "Counts and sizes are whole numbers."
NEGATIVE_TIME_HINT = "A time cannot be negative: measure this row again, or check how the file was exported."
NEGATIVE_HINT = "Counts and sizes cannot be negative: check how the file was exported."
ZERO_TIME_HINT = "A measured time is never exactly zero: the clock was too coarse for it, or nothing was measured."
ZERO_HINT = "Sizes and counts begin at 1: check how the file was exported."


def parse_number(text: str) -> float | None:
    """The number that a cell holds; None where it holds none, NaN and infinities included."""
    if NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def number_hint(text: str) -> str:
    """What to do about a cell that ``parse_number`` refused."""
    bare = text.strip()
    if not bare:
        return EMPTY_HINT
    if bare != text and parse_number(bare) is not None:
        return BLANK_HINT
    if bare.lower().lstrip("+-") in NOT_FINITE or NUMBER.fullmatch(bare):
        return NOT_FINITE_HINT
    if GROUPED.fullmatch(bare) or UNDERSCORED.fullmatch(bare):
        return group_hint(bare)
    if parse_number(bare.replace(",", ".")) is not None:
        return COMMA_HINT
    if spread := SPREAD.fullmatch(bare):
        return f"Write the mean alone, {spread['value']} for {bare!r}, and the spread ({spread['spread']}) in a column of its own."
    if FORTRAN.fullmatch(bare):
        return f"An exponent as Fortran writes it: write {bare.upper().replace('D', 'e')} for {bare!r}, in the whole column."
    if UNIT_ALONE.fullmatch(bare):
        named = f"NAME ({bare.strip('[]()')})"
        return f"A unit: where this row holds units, remove it and write them in the names of the columns, as in {named!r}."
    if suffix := SUFFIX.fullmatch(bare):
        return f"Write the bare number: {suffix[1]}e{POWERS[suffix[2]]}, not {bare}."
    return UNIT_HINT if UNIT_BEHIND.fullmatch(bare) else TEXT_HINT


def group_hint(text: str) -> str:
    """What to do about digits in groups of three, as in ``"8,000"``."""
    if DECIMAL_COMMA.fullmatch(text):
        point = text.replace(",", ".")
        return (
            f"If thousands are meant, remove the comma in the whole column: {text.replace(',', '')}; if a decimal comma: {point}."
        )
    return "Remove the separators between thousands in the whole column: 16000, not 16,000 or 16 000."


def bound_hint(value: float, *, is_time: bool) -> str:
    """What to do about a number outside its bounds."""
    if value == 0:
        return ZERO_TIME_HINT if is_time else ZERO_HINT
    if value < 0:
        return NEGATIVE_TIME_HINT if is_time else NEGATIVE_HINT
    return "See the bounds in the data dictionary (mlperf data columns)."
