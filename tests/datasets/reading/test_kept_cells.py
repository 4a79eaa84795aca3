"""Columns that are only passed on say which of their cells is no number, once somebody counts with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.kept_cells import FAULTS, refuse_cells


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
