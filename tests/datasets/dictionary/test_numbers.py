"""What is said to the author of a cell that is no number."""

from __future__ import annotations

import pytest

from mlperf.datasets.dictionary.numbers import number_hint, parse_number


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "measure the row again"),
        ("inf", "are no measurements"),
        ("0,25", "Write a decimal point, not a comma."),
        ("0,250", "Write a decimal point, not a comma."),
        ("1234,500", "Write a decimal point, not a comma."),
        ("8,000", "remove the comma in the whole column: 8000; if a decimal comma: 8.000"),
        ("1,234,567", "separators between thousands"),
        ("1.234,5", "separators between thousands"),
        ("12\u202f345.5", "separators between thousands"),
        ("12'345", "separators between thousands"),
        ("0.1 s", "the unit stands in the column's name"),
        ("1.5k", "Write the bare number: 1.5e3, not 1.5k."),
        ("OOM", "nothing else"),
        ("1.1D-05", "as Fortran writes it: write 1.1e-05 for '1.1D-05'"),
        ("-4d3", "write -4e3 for '-4d3'"),
        ("1.1±0.2", "Write the mean alone, 1.1 for '1.1±0.2', and the spread (0.2) in a column of its own"),
        ("1.1e-3 +/- 2e-4 ms", "the mean alone, 1.1e-3 for '1.1e-3 +/- 2e-4 ms', and the spread (2e-4)"),
        ("MB", "A unit: where this row holds units, remove it and write them in the names of the columns, as in 'NAME (MB)'"),
        ("[ms]", "in the names of the columns, as in 'NAME (ms)'"),
    ],
)
def test_the_hint_is_the_remedy(text: str, words: str) -> None:
    assert parse_number(text) is None
    assert words in number_hint(text)


@pytest.mark.parametrize("text", ["40\u00a0", "\u202f40", "\u200940.5 "])
def test_a_number_beside_an_unusual_blank_is_no_infinity(text: str) -> None:
    assert parse_number(text) is None
    assert number_hint(text).startswith("A blank of another kind")
