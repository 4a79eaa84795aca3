"""Decimal commas are taken for such only where nothing else can be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.reading.decimal_marks import SAMPLE, find_decimal_mark
from mlperf.datasets.reading.grid import first_cells, grid_of
from mlperf.datasets.reading.source import Source


def mark(text: str, separator: str = ";") -> str:
    source = Source(Path("t.csv"), text.encode(), 0, 0)
    grid = grid_of(source, first_cells(source, separator), separator)
    return find_decimal_mark(grid, grid.header)


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("a;b\n1;2\n", "."),
        ("a;b\n1;2,5\n", ","),
        ("a;b\n1;-,5e-3\n", ","),
        ("a;b\nx;0,500\n", ","),
        ("a;b\n8,000;0,5\n", ","),
        ("a;b\n8,000;1234,000\n", ","),
        ("a;b\n8,000;0,5\n;NA\n", ","),
        ("a;b\n1,5 x;2.5\n", "."),
        ("a;b\n1,2,3;0.25\n", "."),
        ("a;b\n1.024;2\n2.048;3\n", "."),
        ("a;b\n1.024;0.5\n512;0.25\n", "."),
        ("a;b\n1e5;1e-5\n", "."),
        ("a;b\n;\n", "."),
        ("a;b\n0,5;x\n0.25;z\n", "."),
    ],
)
def test_the_mark_that_the_numbers_tell(text: str, decimal: str) -> None:
    assert mark(text) == decimal


def test_between_commas_it_is_a_point() -> None:
    assert mark('a,b\n"1,5",2\n', ",") == "."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;b\n7;8,000\n8;16,000\n", "line 2, column b: got '8,000', expected a number that is not both 8000 and 8.000"),
        ("a;b\n7;512\n8;1.024\n", "line 3, column b: got '1.024', expected a number that is not both 1024 and 1.024"),
        ("a;b\n1;0.5\n0,5;7\n", r"line 2, column b: got '0.5', .* as '0,5' in column a \(line 3\)"),
    ],
)
def test_what_may_be_read_two_ways_is_an_error(text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        mark(text)


def test_rows_below_the_sample_are_asked_where_it_is_open() -> None:
    assert mark("a;b\n" + "8,000;1\n" * SAMPLE + "8,5;1\n") == ","
