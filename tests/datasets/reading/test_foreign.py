"""Tables from elsewhere, opened: names, the index that programs write beside the measurement, what may be read again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.reading.foreign import ForeignTable, open_table


def opened(tmp_path: Path, text: str) -> ForeignTable:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    os.utime(path, (0, 0))
    return open_table(path)


def test_names_lose_the_blanks_around_them(tmp_path: Path) -> None:
    assert opened(tmp_path, "a , b\u00a0,time (ms)\n1,2,3\n").header == ("a", "b", "time (ms)")


@pytest.mark.parametrize("text", [",m\n0,5\n1,5\n", '"";m\n1;5\n2;5\n', "Unnamed: 0\tm\n0\t5\n", " ,m\n0,5\n"])
def test_a_first_column_that_counts_rows_is_an_index(text: str, tmp_path: Path) -> None:
    table = opened(tmp_path, text)
    assert table.header == ("Unnamed: 0", "m")
    assert "counts the rows" in table.unnamed["Unnamed: 0"]


def test_a_named_column_may_count_rows(tmp_path: Path) -> None:
    assert not opened(tmp_path, "run,m\n0,5\n1,5\n").unnamed
    assert not opened(tmp_path, "Unnamed: 0,m\n3,5\n1,5\n").unnamed


@pytest.mark.parametrize("text", [",m\n2,5\n3,5\n", ",m\n0,5\n2,5\n", ",m\nx,5\n", "m,\n5,7\n6,6\n"])
def test_another_column_without_a_name_is_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1, column [12]: got an empty column name") as caught:
        opened(tmp_path, text)
    assert "index=False" in str(caught.value.hint)


def test_a_header_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1, column 1: got an empty column name"):
        opened(tmp_path, ",,\n1,2,3\n")
    with pytest.raises(DataError, match="line 1, column 1: got a blank line"):
        opened(tmp_path, "\nm,n\n")


def test_names_that_differ_by_blanks_are_one_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got 'm' twice"):
        opened(tmp_path, "m, m\n1,2\n")
