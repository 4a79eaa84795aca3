"""Which columns are left out, and in what words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.foreign import open_table
from mlperf.datasets.reading.notes import FAULTS, refuse_cells, set_aside

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


def refused(tmp_path: Path, text: str, name: str) -> DataError:
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        refuse_cells(read_any_table(path, others="keep"), name, "a number above 0", str(path))
    return caught.value


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("n,t_ms\n1,3 ms\n2,0.004 s\n", "line 3, column t_ms", "got '0.004 s', expected a number in ms", "write 4 for '0.004 s'"),
        ("n,t_ms\n1,3\n2,[N/A]\n", "line 3, column t_ms", "got '[N/A]', expected a number above 0", "Fill the cell, or remove"),
        ("n,t_ms\n1,3\n2,\n", "line 3, column t_ms", "got an empty cell, expected a number above 0", "Fill the cell, or remove"),
        (
            "n;t_ms\n1,5;1,5\n2,5;2.5\n3,5;3,5\n",
            "line 3, column t_ms",
            "got '2.5', expected a number with a decimal comma",
            "one here too",
        ),
        ('n,t_ms\n1,"\n3"\n2,fast\n', "line 4, column t_ms", "got 'fast', expected a number, as in", "remove it"),
        ("n,t_ms\n1,25.6M\n2,1M\n", "line 2, column t_ms", "got '25.6M', expected a number", "25.6e6, not 25.6M"),
    ],
)
def test_the_cell_that_is_no_number_is_named_with_the_remedy(
    tmp_path: Path, text: str, place: str, message: str, hint: str
) -> None:
    error = refused(tmp_path, text, "t_ms")
    assert str(error.place).endswith(f"rows.csv, {place}")
    assert error.message.startswith(message)
    assert hint in str(error.hint)
    assert "--na" not in str(error.hint)
    assert "target" not in f"{error.message} {error.hint}"


def test_whole_columns_and_frames_from_elsewhere_have_nothing_to_tell(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n,name\n1,a\n2,b\n", encoding="utf-8")
    frame = read_any_table(path, others="keep")
    assert list(frame.attrs[FAULTS]) == ["name"]
    refuse_cells(frame, "n", "a number")
    frame.attrs = {}
    refuse_cells(frame, "name", "a number")
