"""Rows of different length, blank lines, repeated and foreign column names, quoting."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import read_table
from mlperf.datasets.reading.grid import read_grid
from mlperf.datasets.reading.source import read_source


def grid_of(tmp_path: Path, text: str) -> tuple[str, ...]:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    grid = read_grid(read_source(path))
    return grid.header, [cells for _, cells in grid.records()]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a,b\n1,2\n3\n", "line 3, column b", "got 1 cells, expected 2: the row ends after '3'"),
        ("a,b\n1,2,9\n3,4\n", "line 2, column number 3", "got 3 cells, expected 2: '9' belongs to no column"),
        ("a,b\n1,2\n\n3,4\n", "line 3, column a", "got a blank line"),
        ("a,b\r\n1,2\r\n\r\n", "line 3, column a", "got a blank line"),
        ("a,b\n1,2\n3,4,5", "line 3, column number 3", "'5' belongs to no column"),
        ('a,b\n"1\n2",3\n4\n', "line 4, column b", "got 1 cells, expected 2"),
        ("a,a\n1,2\n", "line 1, column a", "got 'a' twice"),
        ("a,\n1,2\n", "line 1, column 2", "got an empty column name"),
        ('a,b\n"1,2\n', "line 2", "is no CSV"),
        ('a,b\n"1",2\n3,' + "4" * 140_000 + "\n", "line 3", "is no CSV (field larger than field limit"),
        ("a" * 140_000 + ",b\n1,2\n", "line 1", "is no CSV (field larger than field limit"),
    ],
)
def test_faults_of_form(text: str, place: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        grid_of(tmp_path, text)
    assert str(caught.value.place).startswith(f"{tmp_path / 'table.csv'}, {place}")
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n", [["1", "2"]]),
        ("a,b\n1,2", [["1", "2"]]),
        ("a,b\n,\n", [["", ""]]),
        ("a\n1\n2\n", [["1"], ["2"]]),
        ('a,b\n"x, y",2\n', [["x, y", "2"]]),
        ('a,b\n"line\nbreak",2\n3,4\n', [["line\nbreak", "2"], ["3", "4"]]),
        ("a,b\r1,2\r", [["1", "2"]]),
    ],
)
def test_rows_as_the_csv_module_reads_them(text: str, rows: list[list[str]], tmp_path: Path) -> None:
    _, found = grid_of(tmp_path, text)
    assert found == rows


def test_line_numbers_count_lines_inside_quotes(tmp_path: Path, small_texts: dict[str, str]) -> None:
    header, first, *rest = small_texts["steps"].splitlines()
    first = first.replace("numpy", '"num\npy"')
    path = tmp_path / "steps.csv"
    path.write_text("\n".join([header, first, rest[0].replace("0.0021", "-1"), *rest[1:]]) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 4, column reference_s: got '-1'"):
        read_table(path, "steps")


def test_unknown_column_gets_the_nearest_name(tmp_path: Path, small_texts: dict[str, str]) -> None:
    path = tmp_path / "steps.csv"
    path.write_text(small_texts["steps"].replace("subbatch_size", "subatch_size", 1), encoding="utf-8")
    with pytest.raises(DataError, match="column subatch_size: got 'subatch_size'") as caught:
        read_table(path, "steps")
    assert "'subbatch_size'" in str(caught.value.hint)


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators_are_recognised(mark: str, word: str, tmp_path: Path, small_texts: dict[str, str]) -> None:
    path = tmp_path / "steps.csv"
    path.write_text(small_texts["steps"].replace(",", mark), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_table(path, "steps")
    assert word in str(caught.value.hint)


def test_a_cell_beyond_the_reader_s_limit_in_a_plain_file_is_refused_when_rows_are_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 3: is no CSV \(field larger than field limit"):
        grid_of(tmp_path, "a,b\n1,2\n3," + "x" * 140_000 + "\n")


def test_semicolons_and_decimal_commas_are_named_where_commas_separate(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("backend;cnn;step_s\nmine;one;0,5\n", encoding="utf-8")
    with pytest.raises(DataError, match="hint: Cells are separated by commas, here by semicolons; numbers have a decimal point"):
        read_table(path, "steps")
