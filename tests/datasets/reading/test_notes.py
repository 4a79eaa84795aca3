"""Which columns are left out, and in what words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlperf.datasets.reading.foreign import open_table
from mlperf.datasets.reading.notes import set_aside

TEXT = "m,day,half,most,none,bad,both,label\n1,2024-01-31,1,,,1,1,a\n2,2024-02-01,,7,,x,x,\n3,,3,,,2,,b\n"


def aside(tmp_path: Path, na: str) -> dict[str, str]:
    path = tmp_path / "t.csv"
    path.write_text(TEXT, encoding="utf-8")
    os.utime(path, (0, 0))
    table = open_table(path)
    return set_aside(table, table.typed(table.header, (), None, "."), na)


def test_columns_that_cannot_be_used_are_left_out_and_mistakes_are_not(tmp_path: Path) -> None:
    found = aside(tmp_path, "error")
    assert list(found) == ["day", "half", "most", "none", "both", "label"]
    assert found["half"].startswith("has no value in 1 of 3 rows (line 3; to leave out these rows")
    assert found["most"].startswith("has no value in 2 of 3 rows (lines 2, 4; ")


def test_where_rows_are_dropped_only_hopeless_columns_are_left_out(tmp_path: Path) -> None:
    assert aside(tmp_path, "drop") == {
        "day": "holds dates or times of day ('2024-01-31'), which say nothing about other rows",
        "most": "has no value in 2 of 3 rows (lines 2, 4)",
        "none": "has no values",
    }


@pytest.mark.parametrize(("n_rows", "words"), [(1, "line 2"), (3, "lines 2, 3, 4"), (5, "lines 2, 3, 4 and 2 more")])
def test_the_first_places_are_named(n_rows: int, words: str, tmp_path: Path) -> None:
    for name, quoted in (("plain.csv", "x"), ("quoted.csv", '"x"')):
        path = tmp_path / name
        path.write_text("m,n\n" + f"1,{quoted}\n" * 9, encoding="utf-8")
        assert open_table(path).cells.where(range(n_rows)) == words
