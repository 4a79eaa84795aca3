"""Which mark separates cells: the one by which all rows are as wide as the header; two such marks are an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.reading.separators import SAMPLE, find_separator
from mlperf.datasets.reading.source import Source


def separator(text: str) -> str:
    return find_separator(Source(Path("t.csv"), text.encode(), 0, 0))


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\n1;5\t2\n", "\t"),
        ("a|b\n1|2,5\n", "|"),
        ("a\n1\n", ","),
        ("a\n1,5\n", ","),
        ('"a;b",c\n1,2\n', ","),
        ('"a,b";c\n1,2;3\n', ";"),
        ("a (b, c);d\n1;2\n", ";"),
        ("a (b; c),d\n1,2\n3,4\n", ","),
        ('a,b|c\n"x|y",2\n', ","),
        ("", ","),
    ],
)
def test_the_mark_that_fits(text: str, mark: str) -> None:
    assert separator(text) == mark


@pytest.mark.parametrize("text", ["a,b;c\n1,2;3\n", "a|b\tc\n1|2\t3\n", "a;b,c\n", "a (s, wall);b\n0,5;1\n0,7;2\n"])
def test_two_marks_that_fit_are_an_error(text: str) -> None:
    with pytest.raises(DataError, match=r"t.csv, line 1: got a table that reads as one separated by \w+s .* or \w+s ") as caught:
        separator(text)
    assert "double quotes" in str(caught.value.hint)


def test_quotes_settle_it_as_the_hint_says() -> None:
    assert separator('"a (s, wall)";b\n0,5;1\n0,7;2\n') == ";"


def test_rows_below_the_sample_are_asked_where_two_marks_fit() -> None:
    assert separator("a,b;c\n" + "1,2;3\n" * SAMPLE + "12;3\n") == ";"


def test_a_row_that_does_not_fit_is_left_to_the_reader() -> None:
    """Most rows decide, so that the message is about the one that is wrong."""
    assert separator("a;b,c;d\n1;2;3\n1;2;3\n1;2\n") == ";"
    assert separator('a,b;c\n"1,2\n') in ",;"
